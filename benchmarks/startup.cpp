// SPDX-License-Identifier: Apache-2.0
#include "wrapped_workload.hpp"

namespace weft::bench {
namespace {

/// Joining has been measured already, as in all scenarios. What is left is to see that all ranks are there: each has a
/// first request answered by rank 0.
class startup final : public wrapped_workload {
 public:
  startup(const weft::communicator& comm, const options& asked) : wrapped_workload(make_any_source(comm, asked)) {}

  [[nodiscard]] bool repeats() const noexcept override { return false; }
};

}  // namespace

std::unique_ptr<workload> make_startup(const weft::communicator& comm, const options& asked) {
  return std::make_unique<startup>(comm, asked);
}

}  // namespace weft::bench
