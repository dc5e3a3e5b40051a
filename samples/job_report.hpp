// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <weft/engine/communicator.hpp>
#include <weft/engine/objects.hpp>

#include <algorithm>
#include <iostream>
#include <set>
#include <utility>
#include <vector>

namespace samples {

/// What one rank tells rank 0 about itself.
struct rank_report {
  std::uint64_t group_communicators = 0;
  std::vector<std::pair<int, int>> pair_communicators;
  std::uint64_t messages = 0;
  std::uint64_t bytes = 0;
  std::uint64_t checksum = 0;

  template <class Archive>
  void serialize(Archive& archive) {
    archive(group_communicators, pair_communicators, messages, bytes, checksum);
  }
};

/// Rank 0 prints what all ranks have used and whether the checksum at the last rank is the one expected; the exit
/// status.
inline boost::asio::awaitable<int> report(weft::communicator comm, weft::route route, double seconds,
                                          std::uint64_t checksum, std::uint64_t expected) {
  constexpr std::uint64_t reports = 1'000'000;
  constexpr std::uint64_t all_are_done = 1'000'001;
  const auto stats = comm.stats();
  const weft::traffic carried = stats.sent[static_cast<std::size_t>(route)];
  rank_report all{stats.group_communicators, stats.pair_communicators, carried.messages, carried.bytes, checksum};
  if (comm.rank() != 0) {
    co_await weft::send_objects(comm, weft::to(0, reports), all);
    // A rank that leaves takes its communicators along, and others may still be using the group's.
    co_await weft::recv_objects<bool>(comm, weft::from(0, all_are_done));
    co_return 0;
  }
  std::set<std::pair<int, int>> pairs(all.pair_communicators.begin(), all.pair_communicators.end());
  for (int i = 1; i < comm.size(); ++i) {
    auto [envelope, one] = co_await weft::recv_objects<rank_report>(comm, weft::from(weft::any_source, reports));
    all.group_communicators = std::max(all.group_communicators, one.group_communicators);
    pairs.insert(one.pair_communicators.begin(), one.pair_communicators.end());
    all.messages += one.messages;
    all.bytes += one.bytes;
    if (envelope.source == comm.size() - 1) all.checksum = one.checksum;
  }
  for (int i = 1; i < comm.size(); ++i) co_await weft::send_objects(comm, weft::to(i, all_are_done), true);
  const bool right = all.checksum == expected;
  std::cout << "communicators: " << all.group_communicators << " group, " << pairs.size() << " pair\n"
            << "carried by " << weft::name(route) << ": " << all.messages << " messages, " << all.bytes << " bytes in "
            << seconds << " s\n"
            << "checksum: " << std::hex << all.checksum << std::dec << (right ? " ok" : " wrong") << '\n';
  co_return right ? 0 : 1;
}

}  // namespace samples
