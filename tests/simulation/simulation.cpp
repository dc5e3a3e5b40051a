// SPDX-License-Identifier: Apache-2.0
#include "simulation.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace weft::simulation {
namespace {

/// Deadlines beyond this are there for operations that lack a counterpart: they pass when nothing else can happen.
constexpr int longest_timed_limit = 10'000;

}  // namespace

simulation::simulation(const program& what, const setting& how, std::ostream* trace)
    : program_(what),
      world_(how, trace),
      devices_(world_, how),
      buffers_(what.operations.size()),
      splits_(what.ranks()),
      leases_(static_cast<std::size_t>(what.ranks())),
      lost_rank_(how.lost_rank),
      lost_at_(how.lost_at) {
  const auto ranks = static_cast<std::size_t>(what.ranks());
  const fifo_link link(world_.time);
  links_.assign(ranks * ranks, link);
  reports_.assign(ranks, link);
  log_reports_.assign(ranks, link);
  news_.assign(ranks, link);
  sequencer_.emplace(world_, splits_, how,
                     virtual_sequencer::connections{[this](int rank, const from_sequencer& message) {
                                                      launches_[static_cast<std::size_t>(rank)]->hear(message);
                                                    },
                                                    [this](int rank, protocol::operation_id receive, bool granted) {
                                                      at(rank).answer_withdrawal(receive, granted);
                                                    },
                                                    [this](int rank) { lease_over(rank); }});
  for (int rank = 0; rank < what.ranks(); ++rank) {
    launches_.push_back(std::make_unique<virtual_launch_thread>(
        world_, devices_, how, rank,
        virtual_launch_thread::connections{
            [this, rank](const to_sequencer& message) {
              log_reports_[static_cast<std::size_t>(rank)].send(
                  [this, rank, message] { sequencer_->hear(rank, message); });
            },
            [this, rank](protocol::operation_id id, boost::system::error_code code) {
              news_[static_cast<std::size_t>(rank)].send([this, rank, id, code] { at(rank).transferred(id, code); });
            },
            [this, rank] { news_[static_cast<std::size_t>(rank)].send([this, rank] { lease_granted(rank); }); }}));
    ranks_.push_back(
        std::make_unique<virtual_rank>(world_, program_, buffers_, *launches_.back(), how, rank, connections_of(rank)));
  }
  form_groups();
  leasing_group_ = how.seed % program_.groups.size();
  for (const int member : program_.groups[leasing_group_].members)
    leases_[static_cast<std::size_t>(member)].open = how.leases;
}

virtual_rank::connections simulation::connections_of(int rank) {
  const auto report = [this, rank](schedule::event what) {
    reports_[static_cast<std::size_t>(rank)].send(std::move(what));
  };
  return {
      .send =
          [this, rank](int peer, packet leaving) {
            links_[link_index(rank, peer)].send(
                [this, rank, peer, arrived = std::move(leaving)] { at(peer).deliver(rank, arrived); });
          },
      .report_match = [this,
                       report](const protocol::match& what) { report([this, what] { sequencer_->matched(what); }); },
      .ask_back = [this, report](const protocol::match& what) { report([this, what] { sequencer_->withdraw(what); }); },
      .ended = [this](const planned_operation& what, boost::system::error_code code) { ended(what, code); },
      .number_of = [this](int of, protocol::operation_id id) { return at(of).number_of(id); },
  };
}

// Before the program begins, so that all know all groups.
void simulation::form_groups() {
  groups_.push_back(protocol::root_group);
  groups_.resize(program_.groups.size());
  for (const split_plan& plan : program_.splits) {
    std::vector<protocol::split_answer> answers;
    const auto& parent = program_.groups[static_cast<std::size_t>(plan.parent)].members;
    for (std::size_t i = 0; i < parent.size(); ++i)
      if (!splits_.ask(parent[i], groups_[static_cast<std::size_t>(plan.parent)], plan.wishes[i].color,
                       plan.wishes[i].key, answers))
        throw violation("protocol: a rank may not split its group");
    for (const protocol::split_answer& answer : answers) {
      if (answer.members.empty()) continue;
      const auto member =
          static_cast<std::size_t>(std::find(parent.begin(), parent.end(), answer.rank) - parent.begin());
      const auto group = static_cast<std::size_t>(plan.wishes[member].group);
      if (answer.members != program_.groups[group].members) throw violation("outcome: a group has other members");
      if (answer.rank == answer.members.front()) sequencer_->add_group(answer.group, answer.members);
      groups_[group] = answer.group;
      at(answer.rank).add_group(answer.group, answer.members);
    }
  }
}

// ---- the user's coroutines

void simulation::run() {
  operations_.resize(program_.operations.size());
  strands_.resize(program_.strands.size());
  left_.resize(program_.strands.size());
  for (int rank = 0; rank < program_.ranks(); ++rank) {
    const auto& strands = program_.strands[static_cast<std::size_t>(rank)];
    auto& running = strands_[static_cast<std::size_t>(rank)];
    running.resize(strands.size());
    for (std::size_t i = 0; i < strands.size(); ++i) go_on(rank, running[i], strands[i]);
  }
  plan_leases();
  if (lost_rank_ >= 0) world_.time.at(lost_at_, [this] { lose(lost_rank_); });
  do {
    while (world_.time.step()) {}
  } while (give_up_what_waits());
  check_ends();
  check_leftovers();
}

void simulation::go_on(int rank, running_strand& which, const strand& what) {
  if (which.planned || which.next == what.size()) return;
  if (which.next > 0 && what[which.next - 1].waits && which.unfinished > 0) return;
  which.planned = true;
  world_.time.after_some_delay([this, rank, &which, &what] { start(rank, which, what); });
}

void simulation::start(int rank, running_strand& which, const strand& what) {
  which.planned = false;
  if (is_lost(rank)) return;
  for (const int number : what[which.next++].operations) start_operation(number, which, what);
  go_on(rank, which, what);
}

void simulation::start_operation(int number, running_strand& by, const strand& of) {
  const planned_operation& what = planned(number);
  state_of(number) = {.by = &by, .of = &of, .started = true};
  ++by.unfinished;
  buffer& memory = buffers_[static_cast<std::size_t>(number)];
  memory.of = name_of(what);
  memory.content = what.sending ? contents_of(what) : buffer::contents(what.units);
  memory.ready = what.ready_after < 0 || state_of(what.ready_after).ended;
  if (world_.trace != nullptr) note_start(what, memory.ready);
  plan_end(what);
  at(what.rank).start(what, groups_[static_cast<std::size_t>(what.group)]);
}

void simulation::note_start(const planned_operation& what, bool ready) {
  const std::string peer = what.peer < 0 ? "any source" : "rank " + std::to_string(what.peer);
  const std::string tag = what.any_tag ? "any tag" : "tag " + std::to_string(what.tag);
  const std::string by = what.sending ? ", route " + std::string(name(what.via)) : "";
  world_.note(what.rank, "starts ", what, what.sending ? " to " : " from ", peer, " of group ", what.group, ", ", tag,
              ", ", what.units, " units", by, ready ? "" : ", not ready");
}

void simulation::plan_end(const planned_operation& what) {
  const auto plan = [&](int ticks, errc why) {
    if (ticks < 0 || ticks > longest_timed_limit) return;
    world_.time.after(static_cast<schedule::ticks>(ticks), [this, &what, why] { at(what.rank).cancel(what, why); });
  };
  plan(what.cancelled_after, errc::cancelled);
  plan(what.limit, errc::timed_out);
}

void simulation::ended(const planned_operation& what, boost::system::error_code code) {
  running_operation& operation = state_of(what.number);
  if (operation.ended) throw violation("outcome: " + name_of(what) + " ends twice");
  operation.ended = true;
  operation.code = code;
  --operation.by->unfinished;
  go_on(what.rank, *operation.by, *operation.of);
  // Where ends are provoked, an inline message may lack its receive after its sender is done: nobody leaves there.
  if (!program_.provokes_ends) world_.time.after_some_delay([this, rank = what.rank] { leave_if_done(rank); });
  for (const planned_operation& other : program_.operations)
    if (other.ready_after == what.number) wait_for_readiness(other);
}

// ---- the user's leases

// At moments that have nothing to do with each other, and with transfers.
void simulation::plan_leases() {
  constexpr std::size_t longest = 400;
  for (int rank = 0; rank < program_.ranks(); ++rank)
    for (int i = 0; i < leases_[static_cast<std::size_t>(rank)].open; ++i)
      world_.time.after(world_.time.below(longest), [this, rank, name = static_cast<std::uint64_t>(i + 1)] {
        if (is_lost(rank)) return;
        world_.note(rank, "asks for a lease");
        reports_[static_cast<std::size_t>(rank)].send(
            [this, rank, name] { sequencer_->ask_lease(rank, groups_[leasing_group_], name); });
      });
}

void simulation::lease_granted(int rank) {
  if (is_lost(rank)) return;
  lease_state& own = leases_[static_cast<std::size_t>(rank)];
  ++own.granted;
  own.held = true;
  end_leases();
}

// Of those whose partners have all come so far, or never will.
void simulation::end_leases() {
  const auto& members = program_.groups[leasing_group_].members;
  const bool has_lost_member = std::any_of(members.begin(), members.end(), [this](int one) { return is_lost(one); });
  const auto is_waited_for = [&](int member, int lease) {
    return !is_lost(member) && leases_[static_cast<std::size_t>(member)].granted < lease;
  };
  for (const int rank : members) {
    lease_state& own = leases_[static_cast<std::size_t>(rank)];
    const bool waits =
        std::any_of(members.begin(), members.end(), [&](int member) { return is_waited_for(member, own.granted); });
    if (!own.held || is_lost(rank) || (waits && !has_lost_member)) continue;
    own.held = false;
    world_.time.after_some_delay([this, rank] {
      if (is_lost(rank)) return;
      launches_[static_cast<std::size_t>(rank)]->end_lease();
      lease_over(rank);
    });
  }
}

void simulation::lease_over(int rank) {
  if (is_lost(rank)) return;
  --leases_[static_cast<std::size_t>(rank)].open;
  if (!program_.provokes_ends) world_.time.after_some_delay([this, rank] { leave_if_done(rank); });
}

// Once it has nothing more to do: others still may.
void simulation::leave_if_done(int rank) {
  if (leases_[static_cast<std::size_t>(rank)].open > 0) return;
  const auto& plans = program_.strands[static_cast<std::size_t>(rank)];
  const auto& running = strands_[static_cast<std::size_t>(rank)];
  for (std::size_t i = 0; i < plans.size(); ++i)
    if (running[i].next < plans[i].size() || running[i].unfinished > 0) return;
  if (left_[static_cast<std::size_t>(rank)]) return;
  left_[static_cast<std::size_t>(rank)] = true;
  launches_[static_cast<std::size_t>(rank)]->leave();
}

// Its links bring what was sent, and then their end.
void simulation::lose(int rank) {
  world_.note(rank, "is lost");
  has_lost_ = true;
  at(rank).stop();
  launches_[static_cast<std::size_t>(rank)]->stop();
  devices_.lose(rank);
  for (int peer = 0; peer < program_.ranks(); ++peer)
    if (peer != rank) links_[link_index(rank, peer)].send([this, rank, peer] { at(peer).peer_lost(rank); });
  log_reports_[static_cast<std::size_t>(rank)].send([this, rank] { sequencer_->lose(rank); });
  end_leases();
}

void simulation::wait_for_readiness(const planned_operation& what) {
  if (!state_of(what.number).started) return;  // it will find its buffer ready
  world_.time.after_some_delay([this, &what] {
    buffers_[static_cast<std::size_t>(what.number)].ready = true;
    world_.note(what.rank, "buffer of ", what, " is ready");
    devices_.buffer_became_ready();
    at(what.rank).make_ready(what);
  });
}

// ---- checks

/// Nothing happens any more. False: nothing waits, either.
bool simulation::give_up_what_waits() {
  std::vector<int> waiting;
  for (const planned_operation& what : program_.operations)
    if (state_of(what.number).started && !state_of(what.number).ended && !is_lost(what.rank))
      waiting.push_back(what.number);
  for (const int number : waiting) check_waits_rightly(planned(number));
  for (const int number : waiting) {
    state_of(number).given_up = true;
    at(planned(number).rank).cancel(planned(number), errc::timed_out);
  }
  return !waiting.empty();
}

void simulation::check_waits_rightly(const planned_operation& what) {
  const auto hang = [&](const std::string& why) {
    throw violation("hang: " + name_of(what) + " of rank " + std::to_string(what.rank) + ' ' + why);
  };
  if (!program_.provokes_ends) hang("does not end");
  if (state_of(what.number).given_up) hang("has been cancelled and does not end");
  const int peer = what.peer < 0 ? -1 : program_.world_rank(what.group, what.peer);
  const int receiver = what.sending ? peer : what.rank;
  if (what.sending && is_lost(peer)) hang("is for a rank that is lost, and does not end");
  const auto partner = at(receiver).reference().partner_of(what.number);
  if (!partner && is_lost(peer)) hang("is from a rank that is lost, and does not end");
  if (partner && !is_unready(what.number) && !is_unready(*partner))
    hang("is matched with " + name_of(planned(*partner)) + " and does not end");
}

bool simulation::is_unready(int number) const {
  return !buffers_[static_cast<std::size_t>(number)].ready && !is_lost(planned(number).rank);
}

void simulation::check_ends() {
  for (const planned_operation& what : program_.operations) {
    if (what.left_out || is_lost(what.rank)) continue;
    if (!state_of(what.number).ended) throw violation("hang: " + name_of(what) + " was never started");
    if (what.sending && !is_lost(program_.world_rank(what.group, what.peer))) check_send(what);
  }
}

bool simulation::was_aborted(const planned_operation& send) const {
  const auto aborted = [&](const planned_operation& one) {
    return operations_[static_cast<std::size_t>(one.number)].code == errc::transfer_aborted;
  };
  return aborted(send) || std::any_of(program_.operations.begin(), program_.operations.end(), [&](const auto& one) {
           return !one.left_out && program_.satisfies(send, one) && aborted(one);
         });
}

// The two ends of a message have the same outcome, but for what was taken with the announcement.
void simulation::check_send(const planned_operation& what) {
  const int receiver = program_.world_rank(what.group, what.peer);
  const bool delivered = at(receiver).has_delivered(what.number);
  const auto code = state_of(what.number).code;
  if (was_aborted(what)) return;  // one end may know more than the other
  const bool was_taken = what.units <= eager_units && !what.until_matched;
  const std::string name = name_of(what);
  if (delivered && code)
    throw violation("outcome: what " + name + " sent was received, and it ends as " + code.message());
  if (!delivered && !code && !was_taken) throw violation("outcome: what " + name + " sent was not received");
  if (at(receiver).has_mismatched(what.number) && !was_taken && code != errc::size_mismatch)
    throw violation("outcome: " + name + " had a receive of another size and ends as " + code.message());
  if (code == errc::size_mismatch && !at(receiver).has_mismatched(what.number))
    throw violation("outcome: " + name + " had no receive of another size");
}

void simulation::check_leftovers() {
  const auto demand = [](bool holds, const char* what) {
    if (!holds) throw violation(std::string("leftover: ") + what);
  };
  for (int rank = 0; rank < program_.ranks(); ++rank)
    if (!is_lost(rank) && leases_[static_cast<std::size_t>(rank)].open != 0)
      throw violation("hang: a lease of rank " + std::to_string(rank) + " does not end");
  if (!devices_.is_quiet()) throw violation("hang: a group or a set-up on a device does not end");
  demand(sequencer_->state().idle(), "a batch at the sequencer");
  for (int rank = 0; rank < program_.ranks(); ++rank) {
    if (is_lost(rank)) continue;
    demand(launches_[static_cast<std::size_t>(rank)]->is_idle(), "something at a launch thread");
    demand(sequencer_->state().drained(rank), "a transfer at the sequencer");
    demand(at(rank).endpoint().in_flight() == 0, "an operation under way");
    // Inline messages whose sends are over may have no receive.
    demand(at(rank).endpoint().unmatched_messages() == at(rank).kept_payloads(), "a message without a sender");
    demand(at(rank).endpoint().unmatched_messages() == at(rank).reference().waiting(), "another number of messages");
    demand(program_.provokes_ends || at(rank).kept_payloads() == 0, "a message that was not received");
  }
}

}  // namespace weft::simulation
