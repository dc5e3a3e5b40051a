// SPDX-License-Identifier: Apache-2.0
#include "json_library.hpp"

#include <weft/serializers/json_document.hpp>

#include <algorithm>
#include <limits>
#include <span>

namespace weft::serializers {

namespace {

// Between one object and the next that counts towards max_depth JSON has at most so many levels: those of a pointer to
// a base.
constexpr std::uint64_t levels_for_each_object = 4;

constexpr std::uint64_t longest_text = std::numeric_limits<std::uint32_t>::max();

constexpr unsigned parse_flags =
    rapidjson::kParseIterativeFlag | rapidjson::kParseValidateEncodingFlag | rapidjson::kParseNumbersAsStringsFlag;

/// Whether what is else UTF-8 has half of a surrogate pair (U+D800 to U+DFFF, which are ED A0 80 to ED BF BF). The
/// library makes it of an escaped second half that has no first.
bool has_surrogate(std::string_view text) noexcept {
  for (std::size_t at = text.find('\xED'); at != std::string_view::npos; at = text.find('\xED', at + 1))
    if (static_cast<unsigned char>(text[at + 1]) >= 0xA0) return true;
  return false;
}

}  // namespace

/// Hears from the reader what comes next in a text, and makes the nodes of a document of it.
class json_builder {
 public:
  json_builder(json_document& into, const rapidjson::MemoryStream& stream, std::uint64_t levels)
      : into_(into), stream_(stream), levels_(levels) {}

  // What the reader calls has names of its own style.
  // NOLINTBEGIN(readability-identifier-naming)
  using Ch = char;
  bool Null() { return add(json_kind::null); }
  bool Bool(bool value) { return add(value ? json_kind::true_value : json_kind::false_value); }
  bool RawNumber(const char* text, std::uint32_t size, bool) { return add(json_kind::number, {text, size}); }
  bool String(const char* text, std::uint32_t size, bool) { return add_text(json_kind::string, {text, size}); }
  bool Key(const char* text, std::uint32_t size, bool) { return add_text(json_kind::key, {text, size}); }
  bool StartArray() { return open(json_kind::array); }
  bool StartObject() { return open(json_kind::object); }
  bool EndArray(std::uint32_t size) { return close(size); }
  bool EndObject(std::uint32_t size) { return has_each_key_once(open_.back()) && close(size); }

  // Numbers come as text.
  static bool Int(int) { return false; }
  static bool Uint(unsigned) { return false; }
  static bool Int64(std::int64_t) { return false; }
  static bool Uint64(std::uint64_t) { return false; }
  static bool Double(double) { return false; }
  // NOLINTEND(readability-identifier-naming)

  [[nodiscard]] bool too_deep() const noexcept { return too_deep_; }
  [[nodiscard]] bool is_no_text() const noexcept { return is_no_text_; }
  [[nodiscard]] const std::string& repeated_key() const noexcept { return repeated_key_; }
  [[nodiscard]] std::uint64_t levels() const noexcept { return open_.size(); }

 private:
  bool add(json_kind kind, std::string_view text = {}) {
    const auto number = static_cast<std::uint32_t>(into_.nodes_.size());
    into_.nodes_.push_back(
        {kind, static_cast<std::uint32_t>(text.size()), static_cast<std::uint32_t>(into_.texts_.size()), number + 1,
         static_cast<std::uint32_t>(stream_.Tell() - (kind == json_kind::number ? text.size() : 0))});
    into_.texts_ += text;
    return true;
  }
  bool add_text(json_kind kind, std::string_view text) {
    is_no_text_ = has_surrogate(text);
    return !is_no_text_ && add(kind, text);
  }
  bool open(json_kind kind) {
    open_.push_back(static_cast<std::uint32_t>(into_.nodes_.size()));
    too_deep_ = open_.size() > levels_;
    return !too_deep_ && add(kind);
  }
  bool close(std::uint32_t size) {
    json_node& node = into_.nodes_[open_.back()];
    node.size = size;
    node.end = static_cast<std::uint32_t>(into_.nodes_.size());
    open_.pop_back();
    return true;
  }

  // Which of the two values counts would differ between readers, and what one has checked another would not see.
  bool has_each_key_once(std::uint32_t object) {
    keys_.clear();
    for (std::size_t key = object + 1; key < into_.nodes_.size(); key = into_.nodes_[key + 1].end)
      keys_.push_back(into_.text(into_.nodes_[key]));
    std::sort(keys_.begin(), keys_.end());
    const auto twice = std::adjacent_find(keys_.begin(), keys_.end());
    if (twice != keys_.end()) repeated_key_ = "the key \"" + std::string(*twice) + "\" twice in an object";
    return repeated_key_.empty();
  }

  json_document& into_;
  const rapidjson::MemoryStream& stream_;
  std::uint64_t levels_;
  std::vector<std::uint32_t> open_;  // arrays and objects, the innermost last
  std::vector<std::string_view> keys_;
  std::string repeated_key_;
  bool too_deep_ = false;
  bool is_no_text_ = false;
};

std::string_view describe(json_kind kind) noexcept {
  constexpr std::string_view names[] = {"null",     "false",    "true",      "a number",
                                        "a string", "an array", "an object", "a key"};
  return names[static_cast<std::size_t>(kind)];
}

json_document::json_document(reader& in, const limits& bounds) {
  if (in.remaining() > longest_text)
    in.fail("a JSON text of " + std::to_string(in.remaining()) + " bytes",
            "at most " + std::to_string(longest_text) + "; send so much by the binary serializer");
  const reader begin = in;
  const std::span<const std::byte> text = in.read_bytes(in.remaining());
  rapidjson::MemoryStream stream(reinterpret_cast<const char*>(text.data()), text.size());
  const std::uint64_t levels = levels_for_each_object * (std::uint64_t{bounds.max_depth} + 1);
  json_builder builder(*this, stream, levels);
  rapidjson::Reader parser;
  const rapidjson::ParseResult result = parser.Parse<parse_flags>(stream, builder);
  // The library takes a zero for the end.
  if (!result.IsError() && stream.Tell() == text.size()) return;
  const std::size_t offset = begin.offset() + std::min(result.IsError() ? result.Offset() : stream.Tell(), text.size());
  if (builder.too_deep())
    throw limit_exceeded(offset, "max_depth", builder.levels(), levels,
                         "levels of JSON, of which each object may take " + std::to_string(levels_for_each_object));
  if (!builder.repeated_key().empty()) throw decode_error(offset, builder.repeated_key(), "each key once");
  if (builder.is_no_text()) throw decode_error(offset, "half of a surrogate pair", "JSON in UTF-8");
  const char* const why = result.IsError() ? rapidjson::GetParseError_En(result.Code()) : "A zero.";
  throw decode_error(offset, std::string("what is no JSON (") + why + ')', "JSON in UTF-8");
}

}  // namespace weft::serializers
