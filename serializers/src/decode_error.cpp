// SPDX-License-Identifier: Apache-2.0
#include <weft/serializers/decode_error.hpp>

namespace weft::serializers {

decode_error::decode_error(std::size_t offset, const std::string& found, const std::string& expected)
    : std::runtime_error("at byte " + std::to_string(offset) + ": found " + found + "; expected " + expected),
      offset_(offset) {}

limit_exceeded::limit_exceeded(std::size_t offset, const std::string& limit, std::uint64_t found, std::uint64_t allowed,
                               const std::string& what)
    : decode_error(offset, std::to_string(found) + " " + what,
                   "at most " + std::to_string(allowed) + "; raise limits::" + limit + " to allow more") {}

}  // namespace weft::serializers
