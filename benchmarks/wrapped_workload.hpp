// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "workload.hpp"

#include <memory>
#include <utility>

namespace weft::bench {

/// Another workload in other circumstances, which the class that derives from this one makes.
class wrapped_workload : public workload {
 public:
  [[nodiscard]] extent unit() const noexcept override { return inner_ ? inner_->unit() : extent{}; }
  boost::asio::awaitable<void> run(std::uint64_t units) override {
    if (inner_) co_await inner_->run(units);
  }
  void fill(std::uint64_t seed) override {
    if (inner_) inner_->fill(seed);
  }
  void check(std::uint64_t seed) const override {
    if (inner_) inner_->check(seed);
  }
  [[nodiscard]] const latencies& seen() const noexcept override { return inner_ ? inner_->seen() : seen_; }

 protected:
  /// With nothing, this rank looks on.
  explicit wrapped_workload(std::unique_ptr<workload> inner) : inner_(std::move(inner)) {}

 private:
  std::unique_ptr<workload> inner_;
};

}  // namespace weft::bench
