// SPDX-License-Identifier: Apache-2.0
#include "pair_end.hpp"
#include "pattern.hpp"
#include "started.hpp"
#include "workload.hpp"

#include <weft/engine/buffer.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <span>
#include <vector>

namespace weft::bench {
namespace {

namespace asio = boost::asio;

/// One way, a message of many pieces that lie apart, as a cache of keys and values has them. The baseline is one block
/// of as many bytes.
class key_value final : public workload {
 public:
  key_value(const pair_end& end, std::size_t pieces) : end_(end), block_(pieces * end.size), pool_(2 * block_.size()) {
    // With a gap behind each, so that no two could be taken for one.
    for (std::size_t i = 0; i < pieces; ++i)
      pieces_.push_back({.data = pool_.data() + 2 * i * end_.size, .size = end_.size});
  }

  [[nodiscard]] extent unit() const noexcept override { return {1, block_.size()}; }
  [[nodiscard]] bool has_baseline() const noexcept override { return true; }

  asio::awaitable<void> begin(variant next) override {
    in_pieces_ = next == variant::measured;
    co_return;
  }

  asio::awaitable<void> run(std::uint64_t units) override {
    longest_ = {};
    for (; units > 0; --units) {
      if (end_.leads() && in_pieces_) co_await send_pieces();
      if (end_.leads() && !in_pieces_) co_await end_.comm.send(block_, end_.payload_to);
      if (!end_.leads() && in_pieces_) co_await receive_pieces();
      if (!end_.leads() && !in_pieces_) co_await end_.comm.recv(block_, end_.payload_from);
    }
    co_await end_.all_arrived();
  }

  void fill(std::uint64_t seed) override {
    if (!end_.leads()) return;
    if (!in_pieces_) return bench::fill(block_, seed);
    for (std::size_t i = 0; i < pieces_.size(); ++i) bench::fill(bytes_of(i), seed_of(i, seed));
  }

  void check(std::uint64_t seed) const override {
    if (!in_pieces_) return bench::check(block_, seed);
    for (std::size_t i = 0; i < pieces_.size(); ++i) bench::check(bytes_of(i), seed_of(i, seed));
  }

  [[nodiscard]] findings found() const override {
    findings result;
    if (in_pieces_) result.hold_us = std::chrono::duration<double, std::micro>(longest_).count();
    return result;
  }

 private:
  using clock = std::chrono::steady_clock;

  asio::awaitable<void> send_pieces() {
    const auto before = clock::now();
    started sending(end_.comm.send(pieces_, end_.payload_to));
    longest_ = std::max(longest_, clock::now() - before);
    co_await sending.finish();
  }

  asio::awaitable<void> receive_pieces() {
    const auto before = clock::now();
    started receiving(end_.comm.recv(pieces_, end_.payload_from));
    longest_ = std::max(longest_, clock::now() - before);
    co_await receiving.finish();
  }

  [[nodiscard]] std::span<std::byte> bytes_of(std::size_t piece) const noexcept {
    return {static_cast<std::byte*>(pieces_[piece].data), pieces_[piece].size};
  }

  // Pieces in the wrong order would be found out.
  [[nodiscard]] std::uint64_t seed_of(std::size_t piece, std::uint64_t seed) const noexcept {
    return seed * pieces_.size() + piece;
  }

  pair_end end_;
  std::vector<std::byte> block_;
  std::vector<std::byte> pool_;
  std::vector<buffer_view> pieces_;
  bool in_pieces_ = false;
  clock::duration longest_{};  // of the calls that start an operation, in the last run
};

}  // namespace

std::unique_ptr<workload> make_key_value(const weft::communicator& comm, const options& asked) {
  return std::make_unique<key_value>(pair_end(comm, asked), asked.in_flight);
}

}  // namespace weft::bench
