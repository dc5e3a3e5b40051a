// SPDX-License-Identifier: Apache-2.0
#include "protocol/message_table.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

using namespace weft::protocol;

namespace {

// As a sender names its operations that use one slot one after the other.
operation_id name(std::uint64_t generation, std::uint32_t slot) {
  return generation << 32 | slot;
}

announce named(operation_id send) {
  announce body{};
  body.send = send;
  return body;
}

}  // namespace

TEST_CASE("messages are found by what their sender calls them, and not by another's") {
  message_table table;
  std::vector<std::uint32_t> slots;
  for (std::uint32_t i = 0; i < 100; ++i) slots.push_back(table.hold(static_cast<int>(i % 3), named(name(i, i % 7))));
  for (std::uint32_t i = 0; i < 100; ++i) {
    CHECK(table.find(static_cast<int>(i % 3), name(i, i % 7)) == slots[i]);
    CHECK(table.find(3, name(i, i % 7)) == no_slot);
  }
  table.release(slots[40]);
  CHECK(table.find(1, name(40, 5)) == no_slot);
  CHECK(table.find(2, name(41, 6)) == slots[41]);
}

// With a hash that sees only slots this would walk a chain of all messages each time: minutes instead of milliseconds.
TEST_CASE("many messages from few slots are released in any order without a search") {
  message_table table;
  constexpr std::uint64_t many = 400'000;
  for (const int source : {0, 1}) {
    std::vector<std::uint32_t> slots;
    for (std::uint64_t i = 0; i < many; ++i) slots.push_back(table.hold(source, named(name(i + 1, 0))));
    for (const std::uint32_t slot : slots) table.release(slot);
    CHECK(table.find(source, name(1, 0)) == no_slot);
  }
}
