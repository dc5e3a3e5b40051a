// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "world.hpp"

#include <weft/engine/error.hpp>

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <tuple>
#include <vector>

namespace weft::simulation {

/// The devices of all ranks, with NCCL's rules at their strictest:
///  - a communicator is one queue of groups on each rank;
///  - at most so many communicators are resident on a device: which ones, the device decides;
///  - a group ends as a whole, once all of its partners are resident with groups of the same shape, and their partners
///    with theirs; groups of different shapes wait for ever (NVIDIA/nccl#1279, #2130);
///  - a group of more than 8 peers, or with a direction twice, is cut into several, on each rank elsewhere (pytorch
///    #174288);
///  - creating and connecting block the caller until all concerned have called, and may wait until the device is quiet;
///    connecting takes a place on the device, too; destroying frees memory, which waits for it (#48, #239).
class virtual_devices {
 public:
  using communicator_id = std::uint32_t;
  using callback = std::function<void(boost::system::error_code)>;

  struct operation {
    int peer = -1;
    bool sending = false;
    buffer* memory = nullptr;
  };

  virtual_devices(world& all, const setting& how);

  // Calls of one rank's launch thread. `done` is called once, later.
  void create(int rank, communicator_id on, const std::vector<int>& members, callback done);
  void connect(int rank, communicator_id on, int source, int destination, callback done);
  void destroy(int rank, communicator_id on, callback done);
  void launch(int rank, communicator_id on, std::vector<operation> operations, callback done);
  /// What is under way on this rank's end of a communicator ends as `transfer_aborted`.
  void abort(int rank, communicator_id on);

  /// Somebody else has the device: nothing may be under way on it, and nothing begins until it is taken back.
  void lend(int rank);
  void take_back(int rank) { at(rank).is_lent = false; }

  /// Communicators that a rank has with another one.
  [[nodiscard]] std::vector<communicator_id> shared_communicators(int rank, int other);
  /// A rank is lost, with its device: what is not about to end never does.
  void lose(int rank);

  /// A group may have waited for it, where that is the fault.
  void buffer_became_ready() { progress(); }

  /// Nothing is under way.
  [[nodiscard]] bool is_quiet() const;

 private:
  struct group {
    int rank = -1;
    communicator_id on = 0;
    std::vector<operation> operations;
    callback done;
    bool resident = false;
    bool ending = false;
    bool stuck = false;
  };
  struct device {
    std::map<communicator_id, std::deque<std::unique_ptr<group>>> queues;  ///< without empty ones
    std::map<communicator_id, std::vector<int>> communicators;             ///< their members
    std::size_t residents = 0;
    bool is_lent = false;
  };
  /// Creating, or connecting one direction of, a communicator.
  using set_up_name = std::tuple<communicator_id, int, int>;
  struct set_up {
    std::size_t callers = 0;  ///< that it takes
    std::map<int, callback> called;
  };

  device& at(int rank) { return devices_[static_cast<std::size_t>(rank)]; }
  void check_own(int rank);
  void join_set_up(int rank, const set_up_name& name, std::size_t callers, callback done);
  void progress();
  void admit(device& on);
  void end_set_ups();
  [[nodiscard]] bool has_room_for(const set_up_name& name, const set_up& waiting);
  void end_groups();
  [[nodiscard]] group* front(int rank, communicator_id on);
  [[nodiscard]] bool collect(group& first, std::vector<group*>& all);
  [[nodiscard]] static bool mirrors(const group& one, const group& other);
  [[nodiscard]] static bool has_both_ends_to_self(const group& one);
  [[nodiscard]] bool is_ready(const group& one) const;
  void end(const std::vector<group*>& all);
  void end_later(callback done, boost::system::error_code code);
  static void move_payload(const group& from, group& to);
  [[nodiscard]] std::vector<std::vector<operation>> cut(int rank, std::vector<operation> operations);

  world& world_;
  std::size_t slots_;
  bool synchronizes_;
  bool gets_stuck_;
  std::vector<device> devices_;
  std::map<set_up_name, set_up> set_ups_;
};

}  // namespace weft::simulation
