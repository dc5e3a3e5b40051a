// SPDX-License-Identifier: Apache-2.0
#include "deadline_queue.hpp"

#include <doctest/doctest.h>

#include <map>
#include <random>

using weft::detail::deadline_queue;

TEST_CASE("deadlines expire in order, and not before their time") {
  deadline_queue<int> queue;
  CHECK_FALSE(queue.earliest());
  queue.add(4, 30);
  queue.add(0, 10);
  queue.add(9, 20);
  CHECK(queue.earliest() == 10);
  CHECK_FALSE(queue.pop_expired(9));
  CHECK(queue.pop_expired(25) == 0U);
  CHECK(queue.pop_expired(25) == 9U);
  CHECK_FALSE(queue.pop_expired(25));
  CHECK(queue.earliest() == 30);
}

TEST_CASE("a deadline that was met leaves the queue, and its slot can be used again") {
  deadline_queue<int> queue;
  queue.add(1, 10);
  queue.add(2, 20);
  queue.remove(1);
  queue.remove(1);
  queue.remove(77);
  CHECK(queue.earliest() == 20);
  queue.add(1, 5);
  CHECK(queue.pop_expired(100) == 1U);
  CHECK(queue.pop_expired(100) == 2U);
  CHECK_FALSE(queue.earliest());
}

TEST_CASE("a random history of deadlines agrees with a sorted list") {
  const std::uint32_t seed = std::random_device()();
  CAPTURE(seed);
  std::mt19937 random(seed);
  deadline_queue<int> queue;
  std::map<std::uint32_t, int> model;
  for (int step = 0; step < 20'000; ++step) {
    const auto slot = static_cast<std::uint32_t>(random() % 200);
    if (model.contains(slot)) {
      queue.remove(slot);
      model.erase(slot);
    } else {
      const int when = static_cast<int>(random() % 1000);
      queue.add(slot, when);
      model[slot] = when;
    }
    if (random() % 16 != 0) continue;
    const int now = static_cast<int>(random() % 300);
    int last = -1;
    while (const auto expired = queue.pop_expired(now)) {
      REQUIRE(model.contains(*expired));
      CHECK(model[*expired] <= now);
      CHECK(model[*expired] >= last);
      last = model[*expired];
      model.erase(*expired);
    }
    for (const auto& [left, when] : model) REQUIRE(when > now);
  }
}
