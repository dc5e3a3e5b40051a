// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "device/cuda/communicator_aborter.hpp"
#include "device/cuda/cuda_chores.hpp"
#include "device/cuda/cuda_memory.hpp"
#include "device/cuda/device_group.hpp"
#include "device/cuda/event_pool.hpp"
#include "device/cuda/nccl_communicator.hpp"
#include "device/cuda_module.hpp"
#include "device/device.hpp"

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace weft::detail {

/// A GPU, by the CUDA runtime and NCCL. It does nothing by itself: `poll` starts what waits and finds what has ended.
///
/// Calls are commands, carried out one after the other: NCCL wants one group, or creation, finished before the next one
/// on the same device, and says when it is (`calling_`). That a group is finished means that its kernels are on the
/// stream; an event behind them says when they are done.
class cuda_device final : public device {
 public:
  /// Throws `boost::system::system_error` that names the call which CUDA refused.
  cuda_device(const cuda_options& options, device_events& events);
  ~cuda_device() override;

  [[nodiscard]] std::shared_ptr<device_memory> memory() const override { return memory_; }
  [[nodiscard]] std::shared_ptr<device_chores> chores() const override { return chores_; }
  [[nodiscard]] std::string_view name() const noexcept override { return "cuda"; }
  [[nodiscard]] std::int16_t ordinal() const noexcept override { return static_cast<std::int16_t>(options_.ordinal); }
  [[nodiscard]] std::size_t pair_bytes() const noexcept override;
  [[nodiscard]] std::string card() const override;
  void set_peers(std::vector<std::string> cards, int self, std::uint64_t incarnation) override;

  void enter_thread() override;
  [[nodiscard]] bool needs_polling() const noexcept override;
  bool poll() override;

  [[nodiscard]] unique_id make_unique_id() override;
  void create(communicator_id communicator, std::span<const int> members, const unique_id& id) override;
  void connect(communicator_id communicator, int source, int destination) override;
  void destroy(communicator_id communicator) override;
  void abort_set_up(boost::system::error_code code) override;
  void lend() override;
  void take_back() override;
  void issue(communicator_id communicator, group_id group, std::span<const device_transfer> transfers) override;
  void refuse(communicator_id communicator, int peer, bool sending) override;
  void abort(communicator_id communicator, boost::system::error_code code) override;
  void on_rank_gone(int rank, boost::system::error_code code) override;
  void abort_all(boost::system::error_code code) override;

 private:
  struct communicator_state {
    std::unique_ptr<nccl_communicator> nccl;
    std::deque<device_group> groups;                   ///< issued and not over
    std::size_t launched = 0;                          ///< of them, those whose event is recorded
    boost::system::error_code failure{};               ///< why it is of no use any more
    std::optional<communicator_aborter::job> abort{};  ///< under way
  };
  /// A call of NCCL's that is in progress, and what follows once it has succeeded.
  struct call_in_progress {
    communicator_id communicator;
    const char* name;
    std::function<void()> then;
  };
  /// False: it has to wait.
  using command = std::function<bool()>;

  [[nodiscard]] communicator_state* usable(communicator_id communicator);
  void follow(communicator_id communicator, const char* name, ncclResult_t result, std::function<void()> then);
  bool advance_call();
  bool start_commands();
  [[nodiscard]] bool launch(communicator_id communicator);
  [[nodiscard]] bool find_memory(device_group& group);

  void post(communicator_id communicator, device_group& group);
  void record(communicator_id communicator, device_group& group);
  bool find_ends();
  bool find_ends(communicator_id id, communicator_state& state);
  void end_front(communicator_id id, communicator_state& state, boost::system::error_code code);
  bool find_aborted();
  static void lose_memory(communicator_state& state);
  void fail(communicator_id communicator, boost::system::error_code code, std::string why);
  void end_set_up(communicator_id communicator, boost::system::error_code code);
  bool answer();
  [[nodiscard]] bool is_quiet() const;

  cuda_options options_;
  device_events& events_;
  int self_ = -1;
  std::shared_ptr<cuda_memory> memory_;
  std::shared_ptr<cuda_chores> chores_;
  pinned_memory pinned_;
  std::byte* nothing_;  ///< for operations that move no bytes, and to connect
  event_pool event_pool_;
  std::map<communicator_id, communicator_state> communicators_;
  std::vector<std::unique_ptr<nccl_communicator>> coming_to_rest_;  ///< aborted: their streams are not empty yet
  std::deque<command> commands_;
  std::optional<call_in_progress> calling_;
  std::optional<communicator_id> setting_up_;
  std::deque<std::function<void()>> answers_;

  communicator_aborter aborter_;
};

}  // namespace weft::detail
