// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <weft/serializers/codec.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace weft::fuzz {

/// Numbers, text and bools: all that a codec has to read with.
struct record {
  std::uint16_t number = 0;
  bool flag = false;
  std::string text;
  std::vector<double> numbers;
  std::vector<std::byte> flags;

  friend bool operator==(const record&, const record&) = default;
};

}  // namespace weft::fuzz

template <>
struct weft::serializers::codec<weft::fuzz::record> {
  using record = fuzz::record;

  static void encode(byte_buffer& out, const record& object) {
    out.append(object.number);
    out.append(object.flag);
    out.append(std::uint64_t{object.text.size()});
    out.append(object.text.data(), object.text.size());
    out.append(std::uint64_t{object.numbers.size()});
    out.append(object.numbers.data(), object.numbers.size() * sizeof(double));
    out.append(static_cast<std::uint8_t>(object.flags.size()));
    out.append(object.flags.data(), object.flags.size());
  }

  static record decode(reader& in) {
    record object;
    object.number = in.read<std::uint16_t>();
    object.flag = in.read<bool>();
    const auto text = in.read_bytes(in.read_range_count(1));
    object.text.assign(reinterpret_cast<const char*>(text.data()), text.size());
    object.numbers.resize(in.read_range_count(sizeof(double)));
    const auto numbers = in.read_bytes(object.numbers.size() * sizeof(double));
    if (!numbers.empty()) std::memcpy(object.numbers.data(), numbers.data(), numbers.size());
    const auto flags = in.read_bools(in.read<std::uint8_t>());
    object.flags.assign(flags.begin(), flags.end());
    return object;
  }
};
