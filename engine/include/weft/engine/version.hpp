// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

/// Objects and buffers between the ranks of a group: `engine`, `communicator`, and what they take and give.
namespace weft {

/// The version of these headers.
/// @{
inline constexpr int version_major = 0;
inline constexpr int version_minor = 1;
inline constexpr int version_patch = 0;
/// @}

/// What two processes must have in common to talk to each other; raised with every change of what goes over a link.
inline constexpr std::uint16_t wire_protocol_version = 3;

}  // namespace weft
