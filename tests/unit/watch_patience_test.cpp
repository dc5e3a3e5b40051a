// SPDX-License-Identifier: Apache-2.0
#include "watch_patience.hpp"

#include <doctest/doctest.h>

#include <chrono>

using weft::detail::watch_patience;
using namespace std::chrono_literals;

namespace {

/// Nothing comes, until links are not watched any more.
void be_silent(watch_patience& one) {
  for (int i = 0; i < 100 && one.watches(); ++i) one.on_silence();
  REQUIRE(!one.watches());
}

/// How many sleeps of that length it takes to watch again.
int sleeps_until_watching(watch_patience& one, watch_patience::duration slept, bool woke_other) {
  int sleeps = 0;
  while (!one.watches() && sleeps < 1000) {
    one.on_sleep(slept, woke_other);
    ++sleeps;
  }
  return sleeps;
}

}  // namespace

TEST_CASE("links are watched at first, less and less while nothing comes, and in full again when something does") {
  watch_patience one(20us);
  CHECK(one.limit(false) == 20us);
  one.on_silence();
  CHECK(one.limit(false) == 10us);
  one.on_news(5us);
  CHECK(one.limit(false) == 20us);
  be_silent(one);
}

TEST_CASE("news that took longer than a waking has not paid") {
  watch_patience one(1ms);
  one.on_news(100us);
  CHECK(one.limit(false) == 1ms);
  one.on_news(101us);
  CHECK(one.limit(false) == 500us);
}

TEST_CASE("a sleep shorter than the watch would have been brings it back, and a longer one does not") {
  watch_patience one(20us);
  be_silent(one);
  one.on_sleep(20us, false);
  CHECK(!one.watches());
  CHECK(sleeps_until_watching(one, 19us, false) < 10);
  CHECK(one.limit(false) == 20us);
}

TEST_CASE("who woke the other end waits until it is awake") {
  watch_patience one(20us);
  CHECK(one.limit(true) == 120us);
  one.on_silence();
  CHECK(one.limit(true) == 10us);  // once
  be_silent(one);
  // A round trip of two ends that sleep: each wakes the other.
  CHECK(sleeps_until_watching(one, 130us, false) == 1000);
  CHECK(sleeps_until_watching(one, 130us, true) < 10);
}

TEST_CASE("where watches keep failing they become rare") {
  watch_patience one(20us);
  int sleeps = 0;
  for (int i = 0; i < 10; ++i) {
    be_silent(one);
    sleeps = sleeps_until_watching(one, 5us, false);
  }
  CHECK(sleeps == 64);
  // Until they have paid as often as they had failed.
  for (int i = 0; i < 63; ++i) one.on_news(5us);
  be_silent(one);
  CHECK(sleeps_until_watching(one, 5us, false) == 2);
}

TEST_CASE("without a spin nothing is watched") {
  watch_patience none(0us);
  CHECK(!none.watches());
  none.on_sleep(0us, true);
  CHECK(!none.watches());
}
