// SPDX-License-Identifier: Apache-2.0
// Calls of the cuda device in orders that the log brings about only where ranks and communicators fail.
#include "cuda_model/world.hpp"

#include "device/cuda_module.hpp"

#include <weft/engine/error.hpp>

#include <doctest/doctest.h>

#include <array>
#include <memory>
#include <span>
#include <string>
#include <vector>

using namespace weft::detail;
using weft::errc;

extern "C" const cuda_module* weft_cuda_module();

namespace {

constexpr communicator_id communicator = 5;
constexpr std::array members{0, 1};

/// Rank 0's device, on the model, and all that it says.
class fixture final : public device_events {
 public:
  fixture() {
    world.bind(0);
    device = weft_cuda_module()->make({.ordinal = 0, .device_bytes = 1 << 20, .pinned_bytes = 1 << 20}, *this);
    device->set_peers({"", ""}, 0, 1);
    device->enter_thread();
  }
  ~fixture() {
    device.reset();
    const std::string wrong = world.report();
    CHECK_MESSAGE(wrong.empty(), wrong);
  }

  void settle() const {
    while (device->needs_polling()) (void)device->poll();
    (void)device->poll();
  }

  cuda_model::world world{2};
  std::unique_ptr<weft::detail::device> device;
  std::vector<boost::system::error_code> set_ups;
  std::vector<group_id> groups;
  std::vector<communicator_id> failed;

 private:
  void on_chore_done(std::uint64_t, boost::system::error_code) override {}
  void on_set_up(boost::system::error_code code) override { set_ups.push_back(code); }
  void on_lent() override {}
  void on_group_done(communicator_id, group_id group, std::span<const boost::system::error_code>) override {
    groups.push_back(group);
  }
  void on_communicator_failed(communicator_id which, boost::system::error_code, std::string) override {
    failed.push_back(which);
  }
};

}  // namespace

// The log of a rank that learns of the failure before the creation has its turn: that one is left out, and batches are
// issued without their transfers, to be reported.
TEST_CASE("a group without transfers ends on a communicator that was never created here, and so does destroying that") {
  fixture rank;
  rank.device->issue(communicator, 1, {});
  rank.device->issue(communicator, 2, {});
  rank.settle();
  CHECK(rank.groups == std::vector<group_id>{1, 2});
  rank.device->destroy(communicator);
  rank.settle();
  CHECK(rank.set_ups.size() == 1);
  CHECK(rank.failed.empty());
}

TEST_CASE("a communicator that was aborted before its creation began is not created") {
  fixture rank;
  rank.device->create(communicator, members, rank.device->make_unique_id());
  rank.device->abort(communicator, errc::transfer_aborted);
  rank.settle();
  CHECK(rank.world.calls("ncclCommInitRankConfig") == 0);
  REQUIRE(rank.set_ups.size() == 1);
  CHECK(rank.set_ups.front() == errc::transfer_aborted);
  CHECK(rank.failed == std::vector{communicator});
}
