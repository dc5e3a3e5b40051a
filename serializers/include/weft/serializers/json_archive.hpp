// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <weft/serializers/byte_buffer.hpp>
#include <weft/serializers/class_version.hpp>
#include <weft/serializers/json_document.hpp>
#include <weft/serializers/limits.hpp>
#include <weft/serializers/pointer_guard.hpp>
#include <weft/serializers/reader.hpp>

#include <cereal/cereal.hpp>
#include <cereal/types/base_class.hpp>
#include <cereal/types/memory.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weft::serializers {

/// Writes objects as JSON to the end of a buffer, in the form that `json_input_archive` reads: classes as objects, with
/// the names that their functions give (cereal::make_nvp, CEREAL_NVP), or `value0`, `value1` and so on without.
class json_output_archive : public cereal::OutputArchive<json_output_archive, cereal::AllowEmptyClassElision>,
                            public cereal::traits::TextArchive {
 public:
  /// Appends to `out`, which must outlive the archive, an array of all that is saved.
  explicit json_output_archive(byte_buffer& out);
  ~json_output_archive() override;
  /// The array is complete.
  void finish() { end_array(); }

  /// The value that is saved next is that of a key. Of a class: its name; of a map: any text.
  void write_key(std::string_view key);

  /// Values, where one may stand.
  /// @{
  void write_null() { write("null"); }
  void write_bool(bool value) { write(value ? "true" : "false"); }
  void write_signed(std::int64_t value);
  void write_unsigned(std::uint64_t value);
  void write_float(float value);
  void write_double(double value);
  /// Throws std::invalid_argument for what is not UTF-8.
  void write_string(std::string_view value);
  /// As base64.
  void write_bytes(std::span<const std::byte> value);
  /// @}

  /// Elements follow, until `end_array`.
  /// @{
  void begin_array();
  void end_array() { end_value(); }
  /// @}
  /// Keys and values follow, until `end_object`.
  /// @{
  void begin_object();
  void end_object() { end_value(); }
  /// @}
  /// A value of a class begins and ends. What is saved first makes it an object, or an array where that is a size.
  /// @{
  void begin_class();
  void end_class() { end_value(); }
  void make_array();
  /// @}

 private:
  struct level {
    char end = 0;  // before it is open
    bool empty = true;
    std::uint32_t unnamed = 0;
  };

  void begin_value();
  void separate(level& within);
  void open(char begin, char end, level& one);
  void end_value();
  void write(std::string_view text);
  void append(std::string_view text) { out_.append(text.data(), text.size()); }
  void append_string(std::string_view text);

  byte_buffer& out_;
  std::vector<level> levels_;
  bool at_hand_ = false;  ///< the place of the next value is made
};

/// The bytes of an object.
/// @{
template <class T>
[[nodiscard]] std::span<const std::byte> extent_of(const T& object) {
  return {reinterpret_cast<const std::byte*>(std::addressof(object)), sizeof object};
}
template <class Base>
[[nodiscard]] std::span<const std::byte> extent_of(const cereal::base_class<Base>& wrapper) {
  return extent_of(*wrapper.base_ptr);
}
template <class Base>
[[nodiscard]] std::span<const std::byte> extent_of(const cereal::virtual_base_class<Base>& wrapper) {
  return extent_of(*wrapper.base_ptr);
}
template <class T>
[[nodiscard]] std::span<const std::byte> extent_of(const cereal::BinaryData<T>& data) {
  return {static_cast<const std::byte*>(data.data), static_cast<std::size_t>(data.size)};
}
/// @}

/// Reads objects from JSON that is not trusted. Members are found by their keys, in any order. Keys that nothing asks
/// for are passed over, and a member without its key stays as it is. What the loading of a class reads into elsewhere
/// must be there. What is wrong is a `decode_error`, which names the place ("items[3].price").
class json_input_archive : public cereal::InputArchive<json_input_archive, cereal::AllowEmptyClassElision>,
                           public cereal::traits::TextArchive {
 public:
  /// Reads an array of `objects` objects, all that remains in `in`.
  json_input_archive(reader& in, const limits& bounds, std::uint32_t objects);
  ~json_input_archive() override;

  /// cereal's own, but that it leaves members alone which are not there.
  /// @{
  template <class... Ts>
  json_input_archive& operator()(Ts&&... values) {
    (load_next(values), ...);
    return *this;
  }
  template <class T>
  json_input_archive& operator&(T&& value) {
    return (*this)(value);
  }
  template <class T>
  json_input_archive& operator>>(T&& value) {
    return (*this)(value);
  }
  /// @}

  /// Loads the value of a key, if it is there.
  template <class T>
  void load_named(std::string_view key, T& value) {
    if (find(key, extent_of(value))) (void)(*this)(value);
  }
  /// The version of a class; 0 where there is none.
  void load_version(std::uint32_t& version);

  /// Values, of which one must stand here.
  /// @{
  [[nodiscard]] bool take_null();
  [[nodiscard]] bool take_bool();
  [[nodiscard]] std::int64_t take_signed(std::int64_t least, std::int64_t most, std::string_view type);
  [[nodiscard]] std::uint64_t take_unsigned(std::uint64_t most, std::string_view type);
  [[nodiscard]] float take_float();
  [[nodiscard]] double take_double();
  [[nodiscard]] std::string_view take_string();
  /// @}
  /// Bytes in base64: how many there are, and then they themselves.
  /// @{
  [[nodiscard]] std::size_t count_bytes();
  void take_bytes(std::span<std::byte> into);
  /// @}

  /// A container must not hold so many elements: throws `limit_exceeded`.
  void check_elements(std::size_t count) const;
  /// Enters an array; how many elements it has, which follow one by one until `end_array`. The second form is for those
  /// that must have so many.
  /// @{
  [[nodiscard]] std::uint32_t begin_array();
  void begin_array(std::uint32_t size);
  void end_array() { leave(); }
  /// @}
  /// Enters an object; how many keys it has, each of which `next_key` names, with its value next, until `end_object`.
  /// @{
  [[nodiscard]] std::uint32_t begin_object();
  [[nodiscard]] std::string_view next_key();
  void end_object() { leave(); }
  /// @}
  /// A value of a class, whose members lie within these bytes, begins and ends.
  /// @{
  void begin_class(std::span<const std::byte> extent);
  void end_class() { leave(); }
  [[nodiscard]] std::uint32_t size_of_class() const;
  /// @}

  /// Called around each object, to count how deep they are nested, with what is known of its class.
  /// @{
  void enter(const known_class& one) {
    known_ = &one;
    if (++depth_ > limits_.max_depth) fail_depth();
  }
  void exit() noexcept { --depth_; }
  /// @}

  /// What checks the pointers that cereal loads.
  [[nodiscard]] pointer_guard& pointers() noexcept { return pointers_; }
  /// cereal calls these two by these names, and casts what it gets to the type of the pointer without a check.
  /// @{
  template <class T>
  void registerSharedPointer(std::uint32_t number, const std::shared_ptr<T>& object) {
    constexpr bool constructed = !cereal::traits::has_load_and_construct<T, json_input_archive>::value;
    pointers_.add(number & ~cereal::detail::msb_32bit, object, typeid(T), constructed);
  }
  [[nodiscard]] std::shared_ptr<void> getSharedPointer(std::uint32_t number) const { return pointers_.find(number); }
  /// @}

  /// Throws a `decode_error` for the value that was reached.
  [[noreturn]] void fail(const std::string& found, const std::string& expected) const;

 private:
  using base = cereal::InputArchive<json_input_archive, cereal::AllowEmptyClassElision>;

  /// An array or object whose parts are being read.
  struct level {
    std::uint32_t node;
    std::uint32_t next;  // the node of the part behind the one that was read last
    std::uint32_t left;  // elements that were not read
    std::uint32_t unnamed = 0;
    std::span<const std::byte> extent = {};  // of the object that is loaded from it
  };

  template <class T>
  void load_next(cereal::NameValuePair<T>& pair) {
    load_named(pair.name, pair.value);
  }
  template <class T>
  void load_next(cereal::SizeTag<T>& tag) {
    base::operator()(tag);
  }
  template <class T>
  void load_next(T& value) {
    if (at_hand_ || find_next(extent_of(value))) base::operator()(value);
  }

  bool find(std::string_view key, std::span<const std::byte> value);
  bool find_next(std::span<const std::byte> value);
  bool find_key(std::string_view key);
  void find_element();
  [[nodiscard]] const json_node& take();
  [[nodiscard]] const json_node& take(json_kind kind, std::string_view expected);
  [[nodiscard]] bool next_is(json_kind kind);
  void reach(const json_node& node);
  template <class T>
  T take_integer(T least, T most, std::string_view type);
  template <class T>
  T take_floating(std::string_view type);
  void open(const json_node& node);
  void leave();
  [[nodiscard]] std::string path() const;
  [[noreturn]] void fail_kind(const json_node& node, std::string_view expected) const;
  [[noreturn]] void fail_depth() const;

  const reader body_;
  json_document document_;
  reader reached_;
  pointer_guard pointers_;
  limits limits_;
  std::vector<level> levels_;
  std::optional<std::uint32_t> at_hand_;  ///< the node that is to be read next
  const known_class* known_ = nullptr;
  std::uint32_t depth_ = 0;
};

}  // namespace weft::serializers

CEREAL_REGISTER_ARCHIVE(weft::serializers::json_output_archive)
CEREAL_REGISTER_ARCHIVE(weft::serializers::json_input_archive)
CEREAL_SETUP_ARCHIVE_TRAITS(weft::serializers::json_input_archive, weft::serializers::json_output_archive)
