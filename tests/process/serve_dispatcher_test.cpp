// SPDX-License-Identifier: Apache-2.0
#include "dispatcher.hpp"
#include "options.hpp"
#include "tally.hpp"

#include <weft/engine/error.hpp>

#include <doctest/doctest.h>

#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

using serve::after_failure;
using serve::dispatcher;
using serve::ending;
using weft::errc;

namespace {

dispatcher all_ready(int workers, int capacity) {
  dispatcher made(workers, capacity);
  for (int rank = 1; rank <= workers; ++rank) made.ready(rank, 100 + rank);
  return made;
}

/// What it says of arguments that it refuses.
template <class Parser, class Argument>
std::string complaint(Parser parse, const Argument& given) {
  try {
    (void)parse(given);
  } catch (const std::invalid_argument& problem) {
    return problem.what();
  }
  return "(nothing)";
}

using words = std::vector<std::string>;
using counts = std::vector<std::pair<std::string, std::uint64_t>>;

}  // namespace

TEST_CASE("requests go to the least busy worker, in turn among equals, each with a tag of its own") {
  dispatcher workers = all_ready(3, 2);
  std::vector<int> order;
  std::set<std::uint64_t> tags;
  for (int i = 0; i < 6; ++i) {
    const auto where = workers.take();
    REQUIRE(where);
    order.push_back(where->worker);
    tags.insert(where->tag);
  }
  CHECK(order == std::vector{1, 2, 3, 1, 2, 3});
  CHECK(tags.size() == 6);
  CHECK(workers.in_flight() == 6);
  CHECK_FALSE(workers.take());
  workers.give_back({2, 0});
  const auto freed = workers.take();
  REQUIRE(freed);
  CHECK(freed->worker == 2);
  CHECK(tags.insert(freed->tag).second);
}

TEST_CASE("a worker that is lost, or not ready yet, gets nothing, and full workers are not lost ones") {
  dispatcher workers(2, 1);
  CHECK_FALSE(workers.take());
  CHECK_FALSE(workers.any_ready());
  workers.ready(1, 7);
  workers.ready(2, 8);
  workers.lose(1);
  const auto where = workers.take();
  REQUIRE(where);
  CHECK(where->worker == 2);
  CHECK_FALSE(workers.take());
  CHECK(workers.any_ready());
  workers.give_back(*where);
  workers.lose(2);
  CHECK_FALSE(workers.take());
  CHECK_FALSE(workers.any_ready());
  CHECK(workers.in_flight() == 0);
}

TEST_CASE("only a worker that went before its answer began is made up for by another") {
  CHECK_FALSE(after_failure(errc::peer_lost, false));
  CHECK_FALSE(after_failure(errc::peer_left, false));
  CHECK(after_failure(errc::timed_out, false) == ending::too_late);
  CHECK(after_failure(errc::malformed_frame, false) == ending::failed);
  for (const errc code : {errc::peer_lost, errc::peer_left, errc::timed_out, errc::malformed_frame})
    CHECK(after_failure(code, true) == ending::cut_off);
}

TEST_CASE("words are counted the same however the text is cut") {
  const std::string text = "It was the best of times, it was the worst of times... IT!";
  for (std::size_t size = 1; size <= text.size(); ++size) {
    CAPTURE(size);
    serve::tally all;
    for (std::size_t begin = 0; begin < text.size(); begin += size) all.add(text.substr(begin, size));
    all.end();
    CHECK(all.bytes() == 58);
    CHECK(all.words() == 13);
    CHECK(all.checksum() == 0xb64f7180U);
    CHECK(all.most_frequent(3) == counts{{"it", 3}, {"of", 2}, {"the", 2}});
  }
}

TEST_CASE("a text without words, and one word without end, are counted too") {
  serve::tally none;
  none.add(" .,\n");
  none.end();
  CHECK(none.words() == 0);
  CHECK(none.most_frequent(5).empty());
  serve::tally one;
  one.add(std::string(1000, 'x'));
  one.end();
  CHECK(one.most_frequent(5) == counts{{std::string(serve::tally::longest_word, 'x'), 1}});
}

TEST_CASE("command lines and queries that are wrong say what can be given") {
  CHECK(serve::parse_options({"--port", "0", "--deadline", "5", "--capacity", "2"}).capacity == 2);
  CHECK(complaint(serve::parse_options, words{"--port", "70000"}) ==
        "--port takes a number from 0 to 65535, not '70000'");
  CHECK(complaint(serve::parse_options, words{"--port"}) == "--port needs a number after it");
  CHECK(complaint(serve::parse_options, words{"-p", "1"}) ==
        "unknown option '-p'; known are --port, --deadline and --capacity");
  CHECK(serve::parse_query("").pace_ms == 0);
  CHECK(serve::parse_query("pace=3&deadline=9").deadline == std::chrono::milliseconds(9));
  CHECK(complaint(serve::parse_query, "pace=-1") == "pace takes a number from 0 to 3600000, not '-1'");
  CHECK(complaint(serve::parse_query, "speed=1") == "unknown field 'speed'; known are pace and deadline");
}
