// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <stdexcept>
#include <string>

/// What tools/gpu-check runs: programs on CUDA and NCCL, or on the model of them. Which is linked decides.
namespace weft::gpu {

/// What the program runs on; on while it lives.
class machine {
 public:
  machine() = default;
  machine(const machine&) = delete;
  machine& operator=(const machine&) = delete;
  virtual ~machine() = default;

  /// The rules that the model has seen broken, a line each. A GPU has no such judgement.
  [[nodiscard]] virtual std::string complaints() const = 0;
};

/// There is no GPU to run on.
struct no_gpu : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Device 0, which the calling thread has chosen then. Throws `no_gpu` with CUDA's own words.
[[nodiscard]] std::unique_ptr<machine> switch_on();

/// Exit statuses of the programs.
enum : int { done = 0, failed = 1, bad_arguments = 2, without_gpu = 3 };

}  // namespace weft::gpu
