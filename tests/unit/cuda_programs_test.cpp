// SPDX-License-Identifier: Apache-2.0
// Programs made by chance on GPUs, over the strict model: operations on memory of all kinds, in whatever order,
// complete or end for a reason that the program gave, and nothing that CUDA or NCCL forbids is done. WEFT_TEST_SEED
// names one program in place of those drawn.
#include "cuda_machine.hpp"
#include "program_lanes.hpp"
#include "ranks.hpp"

#include "device/memory_pool.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <iostream>
#include <new>
#include <random>
#include <string>
#include <utility>

namespace asio = boost::asio;
using weft::testing::program_buffer;
using weft::testing::program_series;
using weft::testing::program_tally;
using weft::testing::running_world;

namespace {

/// Pinned memory that is taken before anything is under way, because later it may not be.
class pinned_pool {
 public:
  explicit pinned_pool(int device) : begin_(take_from_cuda(device)), parts_(begin_, bytes) {}
  pinned_pool(const pinned_pool&) = delete;
  pinned_pool& operator=(const pinned_pool&) = delete;
  ~pinned_pool() { CHECK(cudaFreeHost(begin_) == cudaSuccess); }

  [[nodiscard]] program_buffer take(std::size_t size) {
    std::byte* const part = parts_.take(size);
    if (part == nullptr) throw std::bad_alloc();
    return {{.data = part, .size = size, .memory = weft::memory_kind::pinned},
            std::shared_ptr<const void>(
                part, [this](const std::byte* one) { parts_.give_back(const_cast<std::byte*>(one)); })};
  }

 private:
  static constexpr std::size_t bytes = std::size_t{32} << 20;

  static std::byte* take_from_cuda(int device) {
    void* made = nullptr;
    CHECK(cudaSetDevice(device) == cudaSuccess);
    REQUIRE(cudaHostAlloc(&made, bytes, cudaHostAllocDefault) == cudaSuccess);
    return static_cast<std::byte*>(made);
  }

  std::byte* begin_;
  weft::detail::memory_pool parts_;
};

/// Memory of all kinds, in equal shares.
class mixed_memory final : public weft::testing::program_memory {
 public:
  explicit mixed_memory(int device) : pinned_(device) {}

  [[nodiscard]] program_buffer take(const weft::communicator& comm, std::uint32_t draw, std::size_t size) override {
    if (draw % 3 == 0) return program_memory::take(comm, draw, size);
    if (draw % 3 == 1) return pinned_.take(size);
    const auto made = std::make_shared<weft::device_buffer>(comm.device_buffer(size));
    return {made->view(), made};
  }
  void write(const weft::buffer_view& to, std::span<const std::byte> bytes) override {
    if (to.memory != weft::memory_kind::device || to.size == 0) return program_memory::write(to, bytes);
    running_world().write(to.data, bytes);
  }
  [[nodiscard]] std::vector<std::byte> read(const weft::buffer_view& from) override {
    if (from.memory != weft::memory_kind::device || from.size == 0) return program_memory::read(from);
    return running_world().read(from.data, from.size);
  }

 private:
  pinned_pool pinned_;
};

program_series series_of(std::uint32_t count) {
  const auto again = [](std::uint32_t seed) {
    return "WEFT_TEST_SEED=" + std::to_string(seed) + " cuda_programs_test";
  };
  if (const char* given = std::getenv("WEFT_TEST_SEED"))
    return {static_cast<std::uint32_t>(std::stoul(given)), 1, again};
  return {std::random_device()() / 2, count, again};
}

void run_series(int ranks, std::uint32_t count, std::size_t pair_budget) {
  const program_series which = series_of(count);
  std::cout << ranks << " ranks, seeds " << which.first << " to " << which.first + which.count - 1 << std::endl;
  const auto body = [&](weft::communicator comm) -> asio::awaitable<void> {
    mixed_memory memory(comm.rank());
    const program_tally found = co_await weft::testing::run_programs(comm, which, memory);
    CHECK(found.left == 0);
    CHECK(found.contradictions == 0);
    if (comm.rank() != 0) co_return;
    CHECK(found.programs == which.count);
    std::cout << describe(found) << std::endl;
  };
  const auto adjust = [&](weft::engine_options& options) {
    weft::testing::scale(options);
    options.pair_budget = pair_budget;
  };
  weft::testing::run_ranks(ranks, body, {.adjust = adjust});
}

}  // namespace

TEST_CASE("programs of two, three and four ranks end as they must on GPUs, with memory of all kinds") {
  for (const int ranks : {2, 3, 4}) run_series(ranks, 60, 16);
}

TEST_CASE("programs end as they must on GPUs where ranks may have one pair communicator at a time") {
  run_series(4, 40, 1);
}
