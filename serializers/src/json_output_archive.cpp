// SPDX-License-Identifier: Apache-2.0
#include "base64.hpp"
#include "json_library.hpp"

#include <weft/serializers/json_archive.hpp>

#include <array>
#include <charconv>
#include <cmath>
#include <stdexcept>

namespace weft::serializers {
namespace {

/// Where the library writes; it calls these by names of its own style.
struct sink {
  // NOLINTBEGIN(readability-identifier-naming)
  using Ch = char;
  void Put(char c) { out.append(&c, 1); }
  void Flush() {}
  // NOLINTEND(readability-identifier-naming)
  byte_buffer& out;
};

template <class Number>
std::string_view text_of(Number value, std::span<char> room) {
  return {room.data(), std::to_chars(room.data(), room.data() + room.size(), value).ptr};
}

// Enough for what to_chars writes of any number: sign, 17 digits, point, exponent.
using number_text = std::array<char, 32>;

template <class Float>
std::string_view text_of_float(Float value, std::span<char> room) {
  if (std::isfinite(value)) return text_of(value, room);
  if (std::isnan(value)) return R"("nan")";
  return value > 0 ? R"("inf")" : R"("-inf")";
}

}  // namespace

json_output_archive::json_output_archive(byte_buffer& out) : OutputArchive(this), out_(out) {
  open('[', ']', levels_.emplace_back());
}
json_output_archive::~json_output_archive() = default;

void json_output_archive::write_key(std::string_view key) {
  level& within = levels_.back();
  if (within.end == ']') return;  // elements have none
  if (within.end == 0) open('{', '}', within);
  separate(within);
  append_string(key);
  append(":");
  at_hand_ = true;
}

void json_output_archive::write_signed(std::int64_t value) {
  number_text room;
  write(text_of(value, room));
}
void json_output_archive::write_unsigned(std::uint64_t value) {
  number_text room;
  write(text_of(value, room));
}
void json_output_archive::write_float(float value) {
  number_text room;
  write(text_of_float(value, room));
}
void json_output_archive::write_double(double value) {
  number_text room;
  write(text_of_float(value, room));
}

void json_output_archive::write_string(std::string_view value) {
  begin_value();
  append_string(value);
}

void json_output_archive::write_bytes(std::span<const std::byte> value) {
  write("\"");
  append_base64(out_, value);
  append("\"");
}

void json_output_archive::begin_array() {
  begin_value();
  open('[', ']', levels_.emplace_back());
}
void json_output_archive::begin_object() {
  begin_value();
  open('{', '}', levels_.emplace_back());
}
void json_output_archive::begin_class() {
  begin_value();
  levels_.emplace_back();
}
void json_output_archive::make_array() {
  if (levels_.back().end != 0)
    throw std::invalid_argument(
        "a class that is a container with members, or with a version, has no form in JSON: make the container a "
        "member");
  open('[', ']', levels_.back());
}

void json_output_archive::end_value() {
  level& ended = levels_.back();
  if (ended.end == 0) open('{', '}', ended);
  append({&ended.end, 1});
  levels_.pop_back();
}

/// Makes a place for a value, unless a key has.
void json_output_archive::begin_value() {
  if (std::exchange(at_hand_, false)) return;
  level& within = levels_.back();
  if (within.end == ']') return separate(within);
  write_key("value" + std::to_string(within.unnamed++));
  at_hand_ = false;
}

void json_output_archive::separate(level& within) {
  if (!std::exchange(within.empty, false)) append(",");
}

void json_output_archive::open(char begin, char end, level& one) {
  append({&begin, 1});
  one.end = end;
}

void json_output_archive::write(std::string_view text) {
  begin_value();
  append(text);
}

void json_output_archive::append_string(std::string_view text) {
  sink out{out_};
  rapidjson::Writer<sink, rapidjson::UTF8<>, rapidjson::UTF8<>, rapidjson::CrtAllocator,
                    rapidjson::kWriteValidateEncodingFlag>
      writer(out);
  const bool written = text.size() <= UINT32_MAX && writer.String(text.data(), static_cast<std::uint32_t>(text.size()));
  if (!written)
    throw std::invalid_argument("a string of " + std::to_string(text.size()) +
                                " bytes that is not UTF-8 cannot be written as JSON: make it a std::vector<std::byte>, "
                                "which is written as base64");
}

}  // namespace weft::serializers
