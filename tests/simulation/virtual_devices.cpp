// SPDX-License-Identifier: Apache-2.0
#include "virtual_devices.hpp"

#include "protocol/mutation.hpp"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

namespace weft::simulation {
namespace {

constexpr std::size_t most_peers = 8;

/// Stand for the directions of a set-up that is the creation or the end of a communicator.
constexpr int creation = -1;
constexpr int destruction = -2;

std::vector<const virtual_devices::operation*> between(const std::vector<virtual_devices::operation>& all, int peer,
                                                       bool sending) {
  std::vector<const virtual_devices::operation*> found;
  for (const auto& one : all)
    if (one.peer == peer && one.sending == sending) found.push_back(&one);
  return found;
}

}  // namespace

virtual_devices::virtual_devices(world& all, const setting& how)
    : world_(all),
      slots_(how.residency),
      synchronizes_(how.set_up_synchronizes),
      gets_stuck_(how.groups_get_stuck),
      devices_(static_cast<std::size_t>(how.ranks)) {}

bool virtual_devices::is_quiet() const {
  return set_ups_.empty() &&
         std::all_of(devices_.begin(), devices_.end(), [](const device& one) { return one.queues.empty(); });
}

// ---- calls

void virtual_devices::lend(int rank) {
  check_own(rank);
  const bool is_setting_up =
      std::any_of(set_ups_.begin(), set_ups_.end(), [=](const auto& one) { return one.second.called.contains(rank); });
  if (is_setting_up || !at(rank).queues.empty()) throw violation("device: it is lent while something is under way");
  at(rank).is_lent = true;
}

void virtual_devices::check_own(int rank) {
  if (at(rank).is_lent) throw violation("device: something begins while it is lent");
}

void virtual_devices::create(int rank, communicator_id on, const std::vector<int>& members, callback done) {
  if (!at(rank).communicators.emplace(on, members).second) throw violation("device: a communicator is created twice");
  join_set_up(rank, {on, creation, creation}, members.size(), std::move(done));
}

void virtual_devices::connect(int rank, communicator_id on, int source, int destination, callback done) {
  join_set_up(rank, {on, source, destination}, 2, std::move(done));
}

void virtual_devices::destroy(int rank, communicator_id on, callback done) {
  at(rank).communicators.erase(on);
  join_set_up(rank, {on, destruction, rank}, 1, std::move(done));
}

void virtual_devices::join_set_up(int rank, const set_up_name& name, std::size_t callers, callback done) {
  check_own(rank);
  set_up& joined = set_ups_[name];
  joined.callers = callers;
  joined.called.emplace(rank, std::move(done));
  progress();
}

void virtual_devices::launch(int rank, communicator_id on, std::vector<operation> operations, callback done) {
  check_own(rank);
  if (!protocol::is_mutated(protocol::mutation::readiness_on_stream))
    for (const operation& one : operations) one.memory->touch("a launch");
  for (auto& piece : cut(rank, std::move(operations))) {
    auto& queue = at(rank).queues[on];
    queue.push_back(std::make_unique<group>());
    queue.back()->rank = rank;
    queue.back()->on = on;
    queue.back()->operations = std::move(piece);
    queue.back()->stuck = gets_stuck_ && world_.time.below(50) == 0;
  }
  at(rank).queues[on].back()->done = std::move(done);
  progress();
}

void virtual_devices::abort(int rank, communicator_id on) {
  for (auto& [name, waiting] : set_ups_) {
    if (std::get<communicator_id>(name) != on) continue;
    auto call = waiting.called.extract(rank);
    if (!call.empty()) end_later(std::move(call.mapped()), errc::transfer_aborted);
  }
  std::erase_if(set_ups_, [](const auto& one) { return one.second.called.empty(); });
  const auto found = at(rank).queues.find(on);
  if (found == at(rank).queues.end()) return;
  std::erase_if(found->second, [&](const std::unique_ptr<group>& one) {
    if (one->ending) return false;
    if (one->resident) --at(rank).residents;
    if (one->done) end_later(std::move(one->done), errc::transfer_aborted);
    return true;
  });
  if (found->second.empty()) at(rank).queues.erase(found);
  progress();
}

std::vector<virtual_devices::communicator_id> virtual_devices::shared_communicators(int rank, int other) {
  std::vector<communicator_id> shared;
  for (const auto& [id, members] : at(rank).communicators)
    if (std::find(members.begin(), members.end(), other) != members.end()) shared.push_back(id);
  return shared;
}

void virtual_devices::lose(int rank) {
  for (const auto& [id, members] : at(rank).communicators) abort(rank, id);
  at(rank).communicators.clear();
}

void virtual_devices::end_later(callback done, boost::system::error_code code) {
  world_.time.after_some_delay([done = std::move(done), code] { done(code); });
}

std::vector<std::vector<virtual_devices::operation>> virtual_devices::cut(int rank, std::vector<operation> operations) {
  std::set<int> peers;
  bool repeats = false;
  for (const operation& one : operations) {
    peers.insert(one.peer);
    repeats = repeats || between(operations, one.peer, one.sending).size() > 1;
  }
  if (peers.size() <= most_peers && !repeats) return {std::move(operations)};
  const auto at = operations.begin() + static_cast<std::ptrdiff_t>(world_.time.below(operations.size()));
  world_.note(rank, "a group of ", operations.size(), " operations is cut at ", at - operations.begin());
  return {{operations.begin(), at}, {at, operations.end()}};
}

// ---- what the devices do

void virtual_devices::progress() {
  for (device& one : devices_) admit(one);
  end_set_ups();
  end_groups();
}

void virtual_devices::admit(device& on) {
  while (on.residents < slots_) {
    std::vector<group*> waiting;
    for (auto& [id, queue] : on.queues)
      if (!queue.front()->resident) waiting.push_back(queue.front().get());
    if (waiting.empty()) return;
    waiting[world_.time.below(waiting.size())]->resident = true;
    ++on.residents;
  }
}

void virtual_devices::end_set_ups() {
  for (auto next = set_ups_.begin(); next != set_ups_.end();) {
    const auto current = next++;
    auto& [name, waiting] = *current;
    const bool quiet = !synchronizes_ || std::all_of(waiting.called.begin(), waiting.called.end(),
                                                     [this](auto& one) { return at(one.first).queues.empty(); });
    if (waiting.called.size() < waiting.callers || !quiet || !has_room_for(name, waiting)) continue;
    for (auto& [rank, done] : waiting.called) end_later(std::move(done), {});
    set_ups_.erase(current);
  }
}

/// To connect is to move something: it stands in the communicator's queue, and needs its place on the device.
bool virtual_devices::has_room_for(const set_up_name& name, const set_up& waiting) {
  const auto [on, source, destination] = name;
  if (source < 0) return true;
  return std::all_of(waiting.called.begin(), waiting.called.end(), [this, id = on](const auto& one) {
    device& caller = at(one.first);
    return caller.residents < slots_ && !caller.queues.contains(id);
  });
}

void virtual_devices::end_groups() {
  for (device& one : devices_)
    for (auto& [id, queue] : one.queues) {
      std::vector<group*> all;
      if (queue.front()->ending || !collect(*queue.front(), all)) continue;
      for (group* ending : all) ending->ending = true;
      world_.time.after_some_delay([this, all] { end(all); });
    }
}

virtual_devices::group* virtual_devices::front(int rank, communicator_id on) {
  const auto found = at(rank).queues.find(on);
  return found == at(rank).queues.end() ? nullptr : found->second.front().get();
}

/// All groups that end together with `first`. False where one of them is not there, or not as it should be.
bool virtual_devices::collect(group& first, std::vector<group*>& all) {
  all.push_back(&first);
  for (std::size_t i = 0; i < all.size(); ++i) {
    group& one = *all[i];
    if (!one.resident || one.ending || one.stuck || !at(one.rank).communicators.contains(one.on)) return false;
    if (!is_ready(one) || !has_both_ends_to_self(one)) return false;
    for (const operation& part : one.operations) {
      if (part.peer == one.rank) continue;
      group* partner = front(part.peer, one.on);
      if (partner == nullptr || !mirrors(one, *partner)) return false;
      if (std::find(all.begin(), all.end(), partner) == all.end()) all.push_back(partner);
    }
  }
  return true;
}

bool virtual_devices::mirrors(const group& one, const group& other) {
  return between(one.operations, other.rank, true).size() == between(other.operations, one.rank, false).size() &&
         between(one.operations, other.rank, false).size() == between(other.operations, one.rank, true).size();
}

bool virtual_devices::has_both_ends_to_self(const group& one) {
  return between(one.operations, one.rank, true).size() == between(one.operations, one.rank, false).size();
}

// Nothing may be launched before its buffers are ready. Where the fault is to wait for that on the stream, it is waited
// for here.
bool virtual_devices::is_ready(const group& one) const {
  if (!protocol::is_mutated(protocol::mutation::readiness_on_stream)) return true;
  return std::all_of(one.operations.begin(), one.operations.end(),
                     [](const operation& part) { return part.memory->ready; });
}

void virtual_devices::end(const std::vector<group*>& all) {
  for (const group* from : all)
    for (group* to : all) move_payload(*from, *to);
  for (group* ended : all) {
    device& on = at(ended->rank);
    auto& queue = on.queues[ended->on];
    if (ended->done) end_later(std::move(ended->done), {});
    --on.residents;
    const communicator_id id = ended->on;
    queue.pop_front();
    if (queue.empty()) on.queues.erase(id);
  }
  progress();
}

void virtual_devices::move_payload(const group& from, group& to) {
  const auto sends = between(from.operations, to.rank, true);
  const auto receives = between(to.operations, from.rank, false);
  for (std::size_t i = 0; i < std::min(sends.size(), receives.size()); ++i) {
    const buffer& source = *sends[i]->memory;
    buffer& target = *receives[i]->memory;
    source.touch("a device");
    target.touch("a device");
    if (source.content.size() != target.content.size()) throw violation("device: sizes of the two ends differ");
    target.content = source.content;
  }
}

}  // namespace weft::simulation
