// SPDX-License-Identifier: Apache-2.0
#include "pattern.hpp"
#include "tags.hpp"
#include "together.hpp"
#include "workload.hpp"

#include <weft/engine/communicator.hpp>

#include <chrono>
#include <cstddef>
#include <utility>
#include <vector>

namespace weft::bench {
namespace {

namespace asio = boost::asio;

std::uint64_t seed_of(std::uint64_t seed, int rank) noexcept {
  return seed * static_cast<std::uint64_t>(max_ranks) + static_cast<std::uint64_t>(rank);
}

/// Every other rank asks rank 0, and waits for the answer. A unit is one request of each.
class client final : public workload {
 public:
  client(weft::communicator comm, const options& asked)
      : comm_(std::move(comm)), route_(asked.route), request_(asked.size), answer_(asked.size) {}

  [[nodiscard]] extent unit() const noexcept override { return {}; }  // the server counts

  asio::awaitable<void> run(std::uint64_t units) override {
    seen_.clear();
    for (; units > 0; --units) {
      const auto before = clock::now();
      co_await comm_.send(request_, to(0, tags::request).via(route_));
      co_await comm_.recv(answer_, from(0, tags::payload));
      seen_.record(clock::now() - before);
    }
  }

  void fill(std::uint64_t seed) override { bench::fill(request_, seed_of(seed, comm_.rank())); }
  void check(std::uint64_t seed) const override { bench::check(answer_, seed_of(seed, 0)); }

 private:
  using clock = std::chrono::steady_clock;

  weft::communicator comm_;
  weft::route route_;
  std::vector<std::byte> request_;
  std::vector<std::byte> answer_;
};

/// Rank 0 has a receive for each client, any of which takes the request of any.
class server final : public workload {
 public:
  server(weft::communicator comm, const options& asked)
      : comm_(std::move(comm)), route_(asked.route), answer_(asked.size) {
    for (int i = 1; i < comm_.size(); ++i) workers_.push_back({0, std::vector<std::byte>(asked.size)});
  }

  [[nodiscard]] extent unit() const noexcept override {
    const std::uint64_t messages = 2 * workers_.size();
    return {messages, messages * answer_.size()};
  }

  asio::awaitable<void> run(std::uint64_t units) override {
    requests_left_ = units * workers_.size();
    std::vector<asio::awaitable<void>> all;
    for (worker& each : workers_) all.push_back(serve(each));
    co_await together(std::move(all));
  }

  void fill(std::uint64_t seed) override { bench::fill(answer_, seed_of(seed, 0)); }
  void check(std::uint64_t seed) const override {
    for (const worker& each : workers_)
      if (each.client != 0) bench::check(each.request, seed_of(seed, each.client));
  }

 private:
  struct worker {
    int client;  ///< whose request came last; 0: there was none since the last run
    std::vector<std::byte> request;
  };

  asio::awaitable<void> serve(worker& own) {
    own.client = 0;
    while (requests_left_ > 0) {
      --requests_left_;  // taken by this worker, because another could not know that it is to come
      const received got = co_await comm_.recv(own.request, from(any_source, tags::request));
      own.client = got.source;
      co_await comm_.send(answer_, to(got.source, tags::payload).via(route_));
    }
  }

  weft::communicator comm_;
  weft::route route_;
  std::vector<std::byte> answer_;
  std::vector<worker> workers_;
  std::uint64_t requests_left_ = 0;
};

}  // namespace

std::unique_ptr<workload> make_any_source(const weft::communicator& comm, const options& asked) {
  if (comm.rank() == 0) return std::make_unique<server>(comm, asked);
  return std::make_unique<client>(comm, asked);
}

}  // namespace weft::bench
