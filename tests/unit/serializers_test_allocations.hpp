// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

/// Forgets the allocations of the program so far; `largest_allocation` then tells the greatest single request, in
/// bytes, since. The global operator new of the program is replaced to count them.
void forget_allocations() noexcept;
std::size_t largest_allocation() noexcept;
