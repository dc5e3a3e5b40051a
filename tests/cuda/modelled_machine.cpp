// SPDX-License-Identifier: Apache-2.0
#include "machine.hpp"

#include <cuda_model/world.hpp>

namespace weft::gpu {
namespace {

/// For the engine's pools and the largest messages that are timed.
constexpr std::size_t device_bytes = std::size_t{1} << 30;

class modelled_machine final : public machine {
 public:
  modelled_machine() : world_(1, {.device_bytes = device_bytes}) { world_.bind(0); }
  [[nodiscard]] std::string complaints() const override { return world_.report(); }

 private:
  cuda_model::world world_;
};

}  // namespace

std::unique_ptr<machine> switch_on() {
  return std::make_unique<modelled_machine>();
}

}  // namespace weft::gpu
