// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <weft/serializers/std_type_names.hpp>
#include <weft/serializers/type_name.hpp>

#include <cstdint>
#include <string_view>

namespace weft::serializers {

/// 64-bit FNV-1a (http://www.isthe.com/chongo/tech/comp/fnv/): short enough to be written again in any language.
[[nodiscard]] constexpr std::uint64_t hash_of_name(std::string_view name) noexcept {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

/// The names of types, joined by commas: what `type_fingerprint` is made of.
template <class... Ts>
[[nodiscard]] consteval std::string_view joined_type_names() noexcept {
  return detail::joined_names<Ts...>::value;
}

/// Tells whether two ends mean the same objects in the same order: the hash of their type names, joined by commas.
/// It says nothing of versions and fields, so that a type can evolve.
template <class... Ts>
[[nodiscard]] consteval std::uint64_t type_fingerprint() noexcept {
  return hash_of_name(joined_type_names<Ts...>());
}

}  // namespace weft::serializers
