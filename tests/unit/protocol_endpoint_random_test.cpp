// SPDX-License-Identifier: Apache-2.0
// Random programs under random schedules. Every seed is printed with a failure.
#include "endpoint_harness.hpp"

#include <functional>
#include <map>
#include <set>
#include <string>
#include <tuple>

using namespace weft::testing;

namespace {

constexpr int ranks = 3;
constexpr std::uint64_t tags = 4;
constexpr std::uint64_t first_wild_tag = 2;  // receives of these tags take any source, of the others a named one
constexpr std::array<std::size_t, tags> size_of_tag{12, 40, 16, 1};
constexpr int rounds = 40;

payload content_of(int source, int destination, std::uint64_t tag, int number) {
  payload made(size_of_tag[tag]);
  for (std::size_t i = 0; i < made.size(); ++i)
    made[i] = static_cast<std::byte>(source * 91 + destination * 57 + static_cast<int>(tag) * 31 + number * 7 +
                                     static_cast<int>(i));
  return made;
}

std::string text_of(const payload& content) {
  std::string text;
  for (const std::byte one : content) text.push_back(static_cast<char>(one));
  return text;
}

class random_program {
 public:
  explicit random_program(std::uint32_t seed) : group(ranks, small_limits, seed), random_(seed ^ 0x9e3779b9U) {}

  simulated_group group;

  /// Starts a send and a receive for each of `count` messages, in random order and while things happen.
  void run(int count) {
    std::vector<std::function<void()>> starts;
    for (int i = 0; i < count; ++i) {
      const int source = static_cast<int>(below(ranks));
      const int destination = static_cast<int>(below(ranks));
      const std::uint64_t tag = below(tags);
      starts.emplace_back([=, this] { send(source, destination, tag); });
      starts.emplace_back([=, this] { receive(source, destination, tag); });
    }
    std::shuffle(starts.begin(), starts.end(), random_);
    for (const auto& start : starts) {
      start();
      for (auto steps = below(4); steps != 0 && group.step(); --steps) {}
      if (between_starts) between_starts();
    }
  }

  std::function<void()> between_starts;

  std::uint32_t below(std::size_t bound) { return static_cast<std::uint32_t>(random_() % bound); }

  /// Each message that was sent went to one receive, with its content.
  void check_each_arrived_once() {
    std::map<lane, std::multiset<std::string>> arrived, expected;
    for (int rank = 0; rank < ranks; ++rank)
      for (const auto& one : group[rank].results())
        if (!one.sending && one.succeeded())
          arrived[{one.details.peer, rank, one.details.tag}].insert(text_of(one.content));
    for (const auto& [where, contents] : arrived) {
      const auto [source, destination, tag] = where;
      for (const int number : delivered_numbers(source, destination, tag))
        expected[where].insert(text_of(content_of(source, destination, tag, number)));
      // Inline messages whose sends were over may wait for ever.
      CHECK(std::includes(expected[where].begin(), expected[where].end(), contents.begin(), contents.end()));
    }
  }

  /// Of one source and tag, messages went to the receives in the order of posting, each with its content. Not so once a
  /// match was undone: what goes back to its old place meets what was posted meanwhile.
  void check_contents() {
    if (group.undone() != 0) return check_each_arrived_once();
    for (int rank = 0; rank < ranks; ++rank) {
      std::map<std::pair<int, std::uint64_t>, int> next;
      for (const auto& one : group[rank].results()) {
        if (one.sending || !one.succeeded()) continue;
        const int source = one.details.peer;
        int& number = next[{source, one.details.tag}];
        const auto& delivered = delivered_numbers(source, rank, one.details.tag);
        REQUIRE(static_cast<std::size_t>(number) < delivered.size());
        CHECK(one.content == content_of(source, rank, one.details.tag, delivered[static_cast<std::size_t>(number)]));
        ++number;
      }
    }
  }

 private:
  using lane = std::tuple<int, int, std::uint64_t>;  // source, destination, tag
  struct numbered_send {
    int number;
    const operation_result* result;
  };

  void send(int source, int destination, std::uint64_t tag) {
    constexpr std::array choices{route::automatic, route::inlined, route::host, route::device, route::pair};
    route via = choices[below(choices.size())];
    if (via == route::inlined && size_of_tag[tag] > eager_limit) via = route::host;
    auto where = to(destination, tag).via(via);
    if (below(2) == 0) where = where.until(weft::matched);
    auto& sent = sent_[{source, destination, tag}];
    const int number = static_cast<int>(sent.size());
    sent.push_back({number, &group[source].send(where, content_of(source, destination, tag, number))});
  }
  void receive(int source, int destination, std::uint64_t tag) {
    const auto where = tag >= first_wild_tag ? from(any_source, tag) : from(source, tag);
    (void)group[destination].receive(where, size_of_tag[tag]);
  }

  /// The numbers of the messages that were not withdrawn, in order.
  std::vector<int> delivered_numbers(int source, int destination, std::uint64_t tag) {
    std::vector<int> numbers;
    for (const auto& [number, result] : sent_[{source, destination, tag}])
      if (result->succeeded()) numbers.push_back(number);
    return numbers;
  }

  std::map<lane, std::vector<numbered_send>> sent_;
  std::mt19937 random_;
};

template <class Test>
void for_random_seeds(Test test) {
  std::random_device device;
  for (int round = 0; round < rounds; ++round) {
    const std::uint32_t seed = device();
    CAPTURE(seed);
    test(seed);
  }
}

void check_idle(simulated_rank& rank) {
  CHECK(rank.running() == 0);
  CHECK(rank.endpoint().in_flight() == 0);
  CHECK(rank.streams.empty());
  CHECK(rank.reports.empty());
}

// Once nothing happens any more, cancelling leaves nothing that waits.
void cancel_all(simulated_group& group) {
  for (int rank = 0; rank < ranks; ++rank) {
    if (group.is_gone(rank)) continue;
    for (const auto& one : group[rank].results())
      if (!one.ended) group[rank].cancel(one);
  }
  group.settle();
}

std::size_t successes(simulated_group& group, bool sending) {
  std::size_t count = 0;
  for (int rank = 0; rank < ranks; ++rank)
    for (const auto& one : group[rank].results()) count += one.sending == sending && one.succeeded() ? 1 : 0;
  return count;
}

}  // namespace

TEST_CASE("any order of sends and receives completes, with the right contents in the right order") {
  for_random_seeds([](std::uint32_t seed) {
    random_program program(seed);
    program.run(150);
    program.group.settle();
    for (int rank = 0; rank < ranks; ++rank) {
      check_idle(program.group[rank]);
      CHECK(program.group[rank].kept_payloads() == 0);
      CHECK(program.group[rank].endpoint().unmatched_messages() == 0);
      CHECK(program.group[rank].late.empty());
      for (const auto& one : program.group[rank].results()) CHECK(one.succeeded());
    }
    program.check_contents();
  });
}

TEST_CASE("under random cancellations every operation ends, and each message at both ends alike") {
  for_random_seeds([](std::uint32_t seed) {
    random_program program(seed);
    simulated_group& group = program.group;
    program.between_starts = [&] {
      simulated_rank& rank = group[static_cast<int>(program.below(ranks))];
      if (rank.results().empty() || program.below(2) == 0) return;
      const auto& victim = rank.results()[program.below(rank.results().size())];
      if (!victim.ended) rank.cancel(victim);
    };
    program.run(150);
    group.settle();
    cancel_all(group);
    std::size_t unmatched = 0;
    for (int rank = 0; rank < ranks; ++rank) {
      check_idle(group[rank]);
      // What is left are inline messages whose sends were over.
      CHECK(group[rank].kept_payloads() == group[rank].endpoint().unmatched_messages());
      unmatched += group[rank].kept_payloads();
      for (const auto& one : group[rank].results()) CHECK((one.succeeded() || one.failed_as(errc::cancelled)));
    }
    CHECK(successes(group, true) == successes(group, false) + unmatched);
    program.check_contents();
  });
}

TEST_CASE("when a rank is lost in the middle, every operation of the others still ends") {
  for_random_seeds([](std::uint32_t seed) {
    random_program program(seed);
    simulated_group& group = program.group;
    int countdown = 1 + static_cast<int>(program.below(200));
    program.between_starts = [&] {
      if (--countdown == 0) group.lose(2);
    };
    program.run(100);
    group.settle();
    cancel_all(group);
    for (int rank = 0; rank < 2; ++rank) {
      check_idle(group[rank]);
      CHECK(group[rank].kept_payloads() == group[rank].endpoint().unmatched_messages());
      for (const auto& one : group[rank].results()) {
        if (one.succeeded() || one.failed_as(errc::cancelled)) continue;
        CHECK((one.failed_as(errc::peer_lost) || one.failed_as(errc::transfer_aborted)));
        CHECK(one.details.peer == 2);
      }
    }
  });
}
