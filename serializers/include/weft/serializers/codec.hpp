// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <weft/serializers/byte_buffer.hpp>
#include <weft/serializers/reader.hpp>

#include <concepts>

namespace weft::serializers {

/// How a type is written and read without cereal. Specialize it for a type of your own that has no cereal functions:
///
///     template <> struct weft::serializers::codec<price> {
///       static void encode(byte_buffer& out, const price& object) { out.append(object.cents); }
///       static price decode(reader& in) { return {in.read<std::int64_t>()}; }
///     };
///
/// Such a type may also be a member of types that use cereal, and an element of containers.
template <class T>
struct codec;

/// A type that has a `codec`.
template <class T>
concept has_codec = requires(byte_buffer& out, reader& in, const T& object) {
  codec<T>::encode(out, object);
  { codec<T>::decode(in) } -> std::same_as<T>;
};

}  // namespace weft::serializers
