// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <weft/engine/version.hpp>

#include <cstdint>
#include <string>

namespace weft::detail {

/// What this process shows to others.
struct credentials {
  std::string job_key;            ///< empty: only Unix sockets, and only between processes of one user
  std::uint64_t incarnation = 0;  ///< told to clients; who has no use for it leaves it at 0
  std::uint16_t version = wire_protocol_version;
};

}  // namespace weft::detail
