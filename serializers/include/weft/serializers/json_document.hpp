// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <weft/serializers/limits.hpp>
#include <weft/serializers/reader.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace weft::serializers {

/// What a part of a JSON text is.
enum class json_kind : std::uint8_t {
  null,         ///< null
  false_value,  ///< false
  true_value,   ///< true
  number,       ///< a number, as it was written
  string,       ///< a string, its escapes resolved
  array,        ///< its elements follow
  object,       ///< keys and values follow, in turns
  key,          ///< a key of an object; its value follows
};

/// The name of a kind, with its article, for messages.
[[nodiscard]] std::string_view describe(json_kind kind) noexcept;

/// One part of a JSON text.
struct json_node {
  json_kind kind;       ///< what it is
  std::uint32_t size;   ///< of the text of numbers, strings and keys; else how many elements or members there are
  std::uint32_t text;   ///< where that text begins, among the texts of the document
  std::uint32_t end;    ///< the number of the first node behind this one and all that it holds
  std::uint32_t place;  ///< in bytes from the beginning of the JSON text
};

/// A JSON text that was read: its parts in the order in which they stand there. It takes some 25 bytes for each, ten
/// times the length of a text of the shortest numbers, and no stack however deep they are nested.
class json_document {
 public:
  /// Reads all that remains in `in`, whose errors it throws: for what is no JSON (RFC 8259) in UTF-8, for objects that
  /// have a key twice, and for what is nested deeper than `bounds` can allow any objects to be.
  json_document(reader& in, const limits& bounds);

  /// A part by its number; the whole is number 0.
  [[nodiscard]] const json_node& operator[](std::uint32_t number) const noexcept { return nodes_[number]; }
  /// The text of a number, string or key.
  [[nodiscard]] std::string_view text(const json_node& node) const noexcept {
    return std::string_view(texts_).substr(node.text, node.size);
  }

 private:
  friend class json_builder;

  std::vector<json_node> nodes_;
  std::string texts_;
};

}  // namespace weft::serializers
