// SPDX-License-Identifier: Apache-2.0
// A pipeline of as many stages as there are ranks. Each stage sends the shape of its result to the next as an object,
// then two activations in one batch. Rank 0 prints what the job used. --help has the usage.
#include "arguments.hpp"
#include "checksum.hpp"
#include "help.hpp"
#include "job_report.hpp"

#include <weft/weft.hpp>

#include <chrono>
#include <iostream>

namespace {

enum : std::uint64_t { shapes, hidden, residual };

struct activations {
  std::vector<char> hidden;
  std::vector<char> residual;
};

// What a stage computes: the sum of its two inputs, byte by byte.
void compute(activations& one) {
  for (std::size_t i = 0; i < one.hidden.size(); ++i)
    one.hidden[i] = static_cast<char>(one.hidden[i] + one.residual[i]);
}

activations cut(const std::vector<char>& text, std::size_t begin, std::size_t size) {
  const std::size_t end = std::min(begin + size, text.size());
  return {{text.begin() + static_cast<std::ptrdiff_t>(begin), text.begin() + static_cast<std::ptrdiff_t>(end)},
          std::vector<char>(end - begin, 1)};
}

boost::asio::awaitable<void> receive(weft::communicator comm, activations& in) {
  auto [envelope, elements] = co_await weft::recv_objects<std::uint64_t>(comm, weft::from(comm.rank() - 1, shapes));
  in.hidden.resize(elements);
  in.residual.resize(elements);
  if (elements == 0) co_return;  // the end
  weft::batch both;
  both.recv(in.hidden, weft::from(envelope.source, hidden)).recv(in.residual, weft::from(envelope.source, residual));
  co_await comm.batch(both);
}

boost::asio::awaitable<void> send(weft::communicator comm, const activations& out, weft::route route) {
  const std::uint64_t elements = out.hidden.size();
  co_await weft::send_objects(comm, weft::to(comm.rank() + 1, shapes), elements);
  if (elements == 0) co_return;
  weft::batch both;
  both.send(out.hidden, weft::to(comm.rank() + 1, hidden).via(route))
      .send(out.residual, weft::to(comm.rank() + 1, residual).via(route));
  co_await comm.batch(both);
}

boost::asio::awaitable<int> run_stage(weft::communicator comm, std::vector<std::string> words) {
  const samples::arguments given(words);
  std::vector<char> text;
  if (comm.rank() == 0) text = samples::read_input(given.input, std::size_t{4} << 20);
  const auto begin = std::chrono::steady_clock::now();
  // The inline route carries small messages only.
  const std::size_t size = given.route == weft::route::inlined ? std::size_t{16} << 10 : std::size_t{1} << 20;
  std::vector<char> result;
  for (bool more = true; more;) {
    activations current;
    if (comm.rank() == 0)
      current = cut(text, result.size(), size);
    else
      co_await receive(comm, current);
    compute(current);
    if (comm.rank() + 1 < comm.size()) co_await send(comm, current, given.route);
    result.insert(result.end(), current.hidden.begin(), current.hidden.end());
    more = !current.hidden.empty();  // an empty one is the end
  }
  for (char& byte : text) byte = static_cast<char>(byte + comm.size());  // every stage has added one
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  co_return co_await samples::report(comm, given.route, seconds.count(), samples::checksum(result),
                                     samples::checksum(text));
}

constexpr auto help = R"(usage: weft-run -n N pipeline [--route ROUTE] [--input FILE]

N stages in a row, each of which hands an object and two buffers to the next.

  --route ROUTE  automatic, inline, host, device or pair; default automatic
  --input FILE   what rank 0 begins with; default bytes of a generator
)";

}  // namespace

int main(int argc, char** argv) {
  if (samples::gave_help(argc, argv, help)) return 0;
  return weft::run(argc, argv, run_stage);
}
