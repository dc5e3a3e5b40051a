// SPDX-License-Identifier: Apache-2.0
#include <weft/serializers/decode_error.hpp>

namespace weft::serializers {

decode_error::decode_error(std::size_t offset, const std::string& found, const std::string& expected)
    : std::runtime_error("frame does not decode: at byte " + std::to_string(offset) + ": found " + found +
                         "; expected " + expected),
      offset_(offset) {}

}  // namespace weft::serializers
