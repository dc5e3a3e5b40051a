// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <weft/serializers/binary_archive.hpp>
#include <weft/serializers/codec.hpp>
#include <weft/serializers/raw.hpp>
#include <weft/serializers/type_name.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <type_traits>

// How the archives write and read what everything else is made of. cereal finds these functions, and those of the
// other archive_*.hpp, through the namespace of the archives; where it has its own for the same type these are more
// specialized.
namespace weft::serializers {

template <class T>
concept binary_archive = std::same_as<T, binary_output_archive> || std::same_as<T, binary_input_archive>;

template <scalar T>
void save(binary_output_archive& archive, const T& value) {
  archive.out().append(value);
}

template <scalar T>
void load(binary_input_archive& archive, T& value) {
  value = archive.in().read<T>();
}

namespace detail {

template <raw_object T>
void save_raw_size(binary_output_archive& archive) {
  static_assert(check_raw<T>());
  archive.out().append(static_cast<std::uint32_t>(sizeof(T)));
}
template <raw_object T>
void load_raw_size(binary_input_archive& archive) {
  static_assert(check_raw<T>());
  const auto size = archive.in().template read<std::uint32_t>();
  if (size != sizeof(T))
    archive.in().fail("objects of " + std::to_string(size) + " bytes",
                      std::to_string(sizeof(T)) + " bytes, the size of " + std::string(type_name_v<T>) +
                          " here; a raw type has the same layout at both ends");
}

}  // namespace detail

template <has_codec T>
void save(binary_output_archive& archive, const T& object) {
  codec<T>::encode(archive.out(), object);
}

template <has_codec T>
void load(binary_input_archive& archive, T& object) {
  object = codec<T>::decode(archive.in());
}

/// Objects that are copied as they lie in memory, after their size.
template <raw_object T>
void save(binary_output_archive& archive, const T& object) {
  detail::save_raw_size<T>(archive);
  archive(cereal::binary_data(&object, sizeof object));
}
template <raw_object T>
void load(binary_input_archive& archive, T& object) {
  detail::load_raw_size<T>(archive);
  archive(cereal::binary_data(&object, sizeof object));
}

/// Names are not written. One of them is cereal's own.
template <binary_archive Archive, class T>
void serialize(Archive& archive, cereal::NameValuePair<T>& pair) {
  archive(pair.value);
  if constexpr (std::same_as<Archive, binary_input_archive> && std::same_as<std::remove_cvref_t<T>, std::uint32_t>) {
    if (pair.name == version_name) archive.check_version(pair.value);
  }
}

/// The size of a container, in 64 bits whatever the type that holds it.
template <class T>
void save(binary_output_archive& archive, const cereal::SizeTag<T>& tag) {
  archive.out().append(static_cast<std::uint64_t>(tag.size));
}

template <class T>
void load(binary_input_archive& archive, cereal::SizeTag<T>& tag) {
  using size_type = std::remove_reference_t<T>;
  const std::uint64_t count = archive.read_count();
  if (count > std::numeric_limits<size_type>::max()) {
    archive.in().fail("a count of " + std::to_string(count) + " elements",
                      "at most " + std::to_string(std::numeric_limits<size_type>::max()));
  }
  tag.size = static_cast<size_type>(count);
}

namespace detail {
template <class T>
using pointee_t = std::remove_cv_t<std::remove_all_extents_t<std::remove_pointer_t<std::remove_reference_t<T>>>>;

/// The bytes of a segment come to `data`, at once or later.
inline void load_apart(binary_input_archive& archive, void* data, std::size_t bytes, const void* holder,
                       std::size_t holder_bytes) {
  if (const std::byte* const arrived = archive.next_segment(bytes))
    std::memcpy(data, arrived, bytes);
  else
    archive.land(data, bytes, holder, holder_bytes);
}
}  // namespace detail

/// Memory as it lies; cereal uses it for arrays of numbers.
template <class T>
void save(binary_output_archive& archive, const cereal::BinaryData<T>& data) {
  static_assert(!std::same_as<detail::pointee_t<T>, long double>, "long double has no width that all machines share");
  const auto size = static_cast<std::size_t>(data.size);
  if (size >= smallest_marked_array) {
    const bool apart = archive.lend(data.data, data.data, size);
    archive.out().append(apart);
    if (apart) return;
  }
  archive.out().append(data.data, size);
}

template <class T>
void load(binary_input_archive& archive, cereal::BinaryData<T>& data) {
  static_assert(!std::same_as<detail::pointee_t<T>, long double>, "long double has no width that all machines share");
  const auto size = static_cast<std::size_t>(data.size);
  if (size >= smallest_marked_array && archive.in().read<bool>())
    return detail::load_apart(archive, data.data, size, data.data, size);
  constexpr bool is_bool = std::same_as<detail::pointee_t<T>, bool>;
  const auto bytes = is_bool ? archive.in().read_bools(size) : archive.in().read_bytes(size);
  if (size != 0) std::memcpy(data.data, bytes.data(), size);
}

}  // namespace weft::serializers

/// A raw type may also have cereal functions, which other archives use.
/// @{
template <weft::serializers::raw_object T>
struct cereal::specialize<weft::serializers::binary_output_archive, T, cereal::specialization::non_member_load_save>
    : std::true_type {};
template <weft::serializers::raw_object T>
struct cereal::specialize<weft::serializers::binary_input_archive, T, cereal::specialization::non_member_load_save>
    : std::true_type {};
/// @}
