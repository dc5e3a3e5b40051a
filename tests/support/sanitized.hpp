// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace weft::testing {

/// Whether this was built with a sanitizer that makes everything many times slower.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)  // as g++ says it
inline constexpr bool is_sanitized = true;
#elif defined(__has_feature)  // as clang does
inline constexpr bool is_sanitized = __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);
#else
inline constexpr bool is_sanitized = false;
#endif

}  // namespace weft::testing
