// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace weft::bench {

/// User and system time that this process has used, all threads.
[[nodiscard]] double cpu_seconds_now();

/// Memory that this process has: its own, and its share of what it shares with others; without code and other files.
/// Throws where Linux does not say.
[[nodiscard]] double resident_bytes_now();

}  // namespace weft::bench
