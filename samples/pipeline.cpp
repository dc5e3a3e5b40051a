// SPDX-License-Identifier: Apache-2.0
// A pipeline of as many stages as there are ranks. Each stage tells the next the shape of what comes as an object, then
// sends two activations in one batch together with the receives of its own next step. Rank 0 prints the communicators
// that the job opened. Usage: pipeline [--route ROUTE] [--input FILE]
#include "arguments.hpp"
#include "checksum.hpp"

#include <weft/weft.hpp>

#include <iostream>
#include <set>
#include <utility>

namespace {

enum : std::uint64_t { shapes, hidden, residual, reports };

constexpr std::size_t steps = 4;

struct shape {
  std::uint64_t step = 0;
  std::uint64_t elements = 0;

  template <class Archive>
  void serialize(Archive& archive) {
    archive(step, elements);
  }
};

struct activations {
  std::vector<char> hidden;
  std::vector<char> residual;
};

void compute(activations& one) {
  for (std::size_t i = 0; i < one.hidden.size(); ++i) one.hidden[i] = static_cast<char>(one.hidden[i] + one.residual[i]);
}

// Part of the text that step `step` works on.
activations cut(const std::vector<char>& text, std::size_t step) {
  const std::size_t size = text.size() / steps;
  const auto begin = text.begin() + static_cast<std::ptrdiff_t>(step * size);
  const auto end = step + 1 == steps ? text.end() : begin + static_cast<std::ptrdiff_t>(size);
  return {{begin, end}, std::vector<char>(static_cast<std::size_t>(end - begin), 1)};
}

// What goes out now and what comes in next, submitted together.
boost::asio::awaitable<activations> step(weft::communicator comm, const samples::arguments& given, const activations& out,
                                         std::size_t number) {
  const int before = comm.rank() - 1;
  const int after = comm.rank() + 1;
  activations in;
  weft::batch both;
  if (after < comm.size() && !out.hidden.empty()) {
    const shape next{number, out.hidden.size()};
    co_await weft::send_objects(comm, weft::to(after, shapes), next);
    both.send(out.hidden, weft::to(after, hidden).via(given.route));
    both.send(out.residual, weft::to(after, residual).via(given.route));
  }
  if (before >= 0 && number < steps) {
    auto [envelope, next] = co_await weft::recv_objects<shape>(comm, weft::from(before, shapes));
    in = {std::vector<char>(next.elements), std::vector<char>(next.elements)};
    both.recv(in.hidden, weft::from(before, hidden)).recv(in.residual, weft::from(before, residual));
  }
  co_await comm.batch(both);
  co_return in;
}

boost::asio::awaitable<void> report(weft::communicator comm, std::uint64_t result) {
  const auto stats = comm.stats();
  if (comm.rank() != 0) {
    co_await weft::send_objects(comm, weft::to(0, reports), stats.group_communicators, stats.pair_communicators, result);
    co_return;
  }
  std::uint64_t groups = stats.group_communicators;
  std::set<std::pair<int, int>> pairs(stats.pair_communicators.begin(), stats.pair_communicators.end());
  for (int i = 1; i < comm.size(); ++i) {
    auto [envelope, group, opened, sum] =
        co_await weft::recv_objects<std::uint64_t, std::vector<std::pair<int, int>>, std::uint64_t>(
            comm, weft::from(weft::any_source, reports));
    groups = std::max(groups, group);
    pairs.insert(opened.begin(), opened.end());
    if (envelope.source == comm.size() - 1) result = sum;
  }
  std::cout << "communicators: " << groups << " group, " << pairs.size() << " pair\nchecksum: " << std::hex << result
            << std::dec << '\n';
}

boost::asio::awaitable<int> run_stage(weft::communicator comm, std::vector<std::string> words) {
  const samples::arguments given(words);
  std::vector<char> text;
  if (comm.rank() == 0) text = samples::read_input(given.input, std::size_t{4} << 20);
  std::vector<char> result;
  activations current;
  for (std::size_t number = 0; number <= steps; ++number) {
    activations next = co_await step(comm, given, current, number);
    if (comm.rank() == 0 && number < steps) next = cut(text, number);
    compute(next);
    result.insert(result.end(), next.hidden.begin(), next.hidden.end());
    current = std::move(next);
  }
  co_await report(comm, samples::checksum(result));
  co_return 0;
}

}  // namespace

int main(int argc, char** argv) { return weft::run(argc, argv, run_stage); }
