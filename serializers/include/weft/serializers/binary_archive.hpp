// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <weft/serializers/byte_buffer.hpp>
#include <weft/serializers/class_version.hpp>
#include <weft/serializers/lenders.hpp>
#include <weft/serializers/limits.hpp>
#include <weft/serializers/pointer_guard.hpp>
#include <weft/serializers/reader.hpp>
#include <weft/serializers/segments.hpp>

#include <cereal/cereal.hpp>
#include <cereal/types/memory.hpp>

#include <cstdint>
#include <memory>
#include <utility>

namespace weft::serializers {

/// Writes objects to the end of a buffer, in the little-endian form that `binary_input_archive` reads: numbers in the
/// width of their type, sizes in 64 bits, nothing else.
class binary_output_archive : public cereal::OutputArchive<binary_output_archive, cereal::AllowEmptyClassElision> {
 public:
  /// Appends to `out`; large ranges go to `segments`, where there are any. Both must outlive the archive.
  explicit binary_output_archive(byte_buffer& out, segment_list* segments = nullptr);
  ~binary_output_archive() override;  // out of line: cereal's tables are much code to repeat for every type

  /// Where codecs write.
  [[nodiscard]] byte_buffer& out() noexcept { return out_; }

  /// Whether a range becomes a segment, which is then added: if `holder`, whose range it is, lasts.
  [[nodiscard]] bool lend(const void* holder, const void* data, std::size_t bytes) {
    if (segments_ == nullptr || !segments_->takes(data, bytes) || !lenders_.lends(holder)) return false;
    segments_->add(data, bytes);
    return true;
  }
  /// Adds memory of a device, which `holder` owns. Throws std::logic_error where that does not last, or this archive
  /// takes no segments.
  void lend_apart(const void* holder, const void* data, std::size_t bytes, std::int16_t device);
  /// Saves what decides about a place in a container, in the archive as a whole.
  template <class Key>
  void save_key(const Key& key) {
    lenders_.enter_key();
    (*this)(key);
    lenders_.leave_key();
  }
  /// What tells members of objects from what lives only while they are being saved.
  [[nodiscard]] lenders& path() noexcept { return lenders_; }

 private:
  byte_buffer& out_;
  segment_list* segments_;
  lenders lenders_;
};

/// Reads objects from memory that is not trusted. What is wrong with it is a `decode_error`, and no memory is taken
/// for what is not there.
class binary_input_archive : public cereal::InputArchive<binary_input_archive, cereal::AllowEmptyClassElision> {
 public:
  /// Reads on from where `in` stands; large ranges come from `segments`, where there are any. All, and the memory that
  /// they read, must outlive the archive.
  explicit binary_input_archive(reader& in, const limits& bounds = {}, segment_reader* segments = nullptr);
  ~binary_input_archive() override;

  /// Where codecs read.
  [[nodiscard]] reader& in() noexcept { return in_; }
  /// What checks the pointers that cereal loads.
  [[nodiscard]] pointer_guard& pointers() noexcept { return pointers_; }

  /// The next segment, as `segment_reader::next`. None may be part of a key, which is looked at while it is loaded.
  [[nodiscard]] const std::byte* next_segment(std::uint64_t bytes) {
    if (segments_ == nullptr || keys_ != 0) fail_segment(bytes);
    return segments_->next(in_, bytes);
  }
  /// The same for memory of a device: its owner.
  [[nodiscard]] std::shared_ptr<void> next_apart(std::uint64_t bytes) {
    if (segments_ == nullptr || keys_ != 0) fail_segment(bytes);
    return segments_->next_apart(in_, bytes);
  }
  /// Where the bytes are to go for which it gave null.
  void land(void* data, std::size_t bytes, const void* holder, std::size_t holder_bytes) {
    segments_->land(data, bytes, holder, holder_bytes);
  }
  /// Loads what decides about a place in a container.
  template <class Key>
  void load_key(Key& key) {
    ++keys_;
    load_element(key);
    --keys_;
  }
  /// The same, and what belongs to it.
  template <class Key, class ValueOf>
  void load_entry(Key& key, ValueOf value_of) {
    const std::size_t before = in_.remaining();
    ++keys_;
    (*this)(key);
    --keys_;
    (*this)(value_of());
    if (in_.remaining() == before) count_without_bytes();
  }
  /// A container must not hold so many elements: throws `limit_exceeded`.
  void check_elements(std::uint64_t count) const {
    if (count > limits_.max_elements) fail_elements(count);
  }

  /// Reads a number of elements of any type. It may exceed the bytes that remain only by what `limits` allows for
  /// elements without bytes.
  [[nodiscard]] std::uint64_t read_count() {
    const auto count = in_.read<std::uint64_t>();
    check_elements(count);
    if (count > in_.remaining() && count - in_.remaining() > without_bytes_left()) fail_count(count);
    return count;
  }

  /// Loads the parts of one element of a container.
  template <class... Parts>
  void load_element(Parts&... parts) {
    const std::size_t before = in_.remaining();
    (*this)(parts...);
    if (in_.remaining() == before) count_without_bytes();
  }

  /// Called around each object of a class, to count how deep objects are nested, with what is known of the class.
  /// @{
  void begin_object(const known_class& one) {
    known_ = &one;
    if (++depth_ > limits_.max_depth) fail_depth();
  }
  void end_object() noexcept { --depth_; }
  /// @}
  /// The version of the class of the object that was begun last must be one that is known.
  void check_version(std::uint32_t version) const {
    if (known_ != nullptr) serializers::check_version(*known_, version, in_);
  }

  /// cereal calls these two by these names, and casts what it gets to the type of the pointer without a check.
  /// @{
  template <class T>
  void registerSharedPointer(std::uint32_t number, const std::shared_ptr<T>& object) {
    constexpr bool constructed = !cereal::traits::has_load_and_construct<T, binary_input_archive>::value;
    pointers_.add(number & ~cereal::detail::msb_32bit, object, typeid(T), constructed);
  }
  [[nodiscard]] std::shared_ptr<void> getSharedPointer(std::uint32_t number) const { return pointers_.find(number); }
  /// @}

 private:
  [[nodiscard]] std::uint64_t without_bytes_left() const noexcept {
    return limits_.max_elements_without_bytes - without_bytes_;
  }
  void count_without_bytes() {
    if (without_bytes_left() == 0) fail_without_bytes();
    ++without_bytes_;
  }
  [[noreturn]] void fail_count(std::uint64_t count) const;
  [[noreturn]] void fail_without_bytes() const;
  [[noreturn]] void fail_depth() const;
  [[noreturn]] void fail_segment(std::uint64_t bytes) const;
  [[noreturn]] void fail_elements(std::uint64_t count) const;

  reader& in_;
  pointer_guard pointers_;
  limits limits_;
  segment_reader* segments_;
  std::uint32_t keys_ = 0;  ///< being loaded, one within the other
  std::uint64_t without_bytes_ = 0;
  std::uint32_t depth_ = 0;
  const known_class* known_ = nullptr;
};

}  // namespace weft::serializers

CEREAL_REGISTER_ARCHIVE(weft::serializers::binary_output_archive)
CEREAL_REGISTER_ARCHIVE(weft::serializers::binary_input_archive)
CEREAL_SETUP_ARCHIVE_TRAITS(weft::serializers::binary_input_archive, weft::serializers::binary_output_archive)
