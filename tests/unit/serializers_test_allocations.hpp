// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

/// Forgets the allocations of the program so far; the others then tell the greatest single request, in bytes, and how
/// many there were since. The global operator new of the program is replaced to count them.
void forget_allocations() noexcept;
std::size_t largest_allocation() noexcept;
std::size_t allocation_count() noexcept;
