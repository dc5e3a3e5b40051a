// SPDX-License-Identifier: Apache-2.0
// Linked into a test of engines, it has all ranks run on the strict model of CUDA and NCCL, each on a device of its
// own. What the model finds wrong is a failure of the test.
#include "cuda_machine.hpp"
#include "ranks.hpp"

#include <doctest/doctest.h>

namespace {

cuda_model::world* running = nullptr;

struct powered_world {
  explicit powered_world(int ranks) : model(ranks) { running = &model; }
  ~powered_world() {
    running = nullptr;
    const std::string wrong = model.report();
    CHECK_MESSAGE(wrong.empty(), wrong);
  }
  cuda_model::world model;
};

const bool on = [] {
  weft::testing::test_machine() = {
      .switch_on = [](int ranks) -> std::shared_ptr<void> { return std::make_shared<powered_world>(ranks); },
      .adjust =
          [](weft::engine_options& options) {
            options.device = weft::device_choice::cuda;
            options.device_ordinal = options.rank;
            options.device_pool_bytes = std::size_t{32} << 20;
            options.staging_bytes = std::size_t{1} << 20;
          },
  };
  return true;
}();

}  // namespace

cuda_model::world& weft::testing::running_world() {
  REQUIRE(running != nullptr);
  return *running;
}
