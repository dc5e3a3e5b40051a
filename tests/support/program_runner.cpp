// SPDX-License-Identifier: Apache-2.0
#include "program_runner.hpp"

#include <weft/engine/error.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <cstring>
#include <map>
#include <random>
#include <span>
#include <stdexcept>
#include <utility>

namespace weft::testing {
namespace {

namespace asio = boost::asio;

constexpr auto with_code = asio::as_tuple(asio::use_awaitable);

// Deadlines up to here are to be met while the program runs; longer ones are for what lacks a counterpart.
constexpr int longest_timed_limit = 10'000;

/// What the message of that number holds, from its first byte on: its number, and a pattern of its own.
std::byte content_at(int number, std::size_t at) {
  if (at < sizeof number) return std::as_bytes(std::span(&number, 1))[at];
  return static_cast<std::byte>(static_cast<std::size_t>(number) * 7 + at);
}

std::vector<std::byte> content_of(int number, std::size_t size) {
  std::vector<std::byte> content(size);
  for (std::size_t i = 0; i < size; ++i) content[i] = content_at(number, i);
  return content;
}

/// Whether memory of the engine's, which may be a GPU's, is used by an operation that is started alone. Sends have even
/// numbers.
bool is_owned(const simulation::program& what, int number) {
  return what.seed % 3 == 0 && number % 5 == 1 && !what.relies_on_credit;
}

}  // namespace

program_runner::program_runner(const simulation::program& what, communicator whole, const program_scale& how,
                               program_memory& memory, asio::any_io_executor executor)
    : what_(what),
      how_(how),
      memory_(what.relies_on_credit ? host_memory_ : memory),
      executor_(std::move(executor)),
      changed_(executor_, asio::steady_timer::time_point::max()),
      groups_(what.groups.size()),
      operations_(what.operations.size()) {
  groups_[0] = std::move(whole);
}

asio::awaitable<std::vector<operation_report>> program_runner::run() {
  co_await form_groups();
  const auto& strands = what_.strands[static_cast<std::size_t>(groups_[0].rank())];
  unfinished_.resize(strands.size());
  running_strands_ = static_cast<int>(strands.size());
  for (std::size_t i = 0; i < strands.size(); ++i)
    asio::co_spawn(executor_, run_strand(strands[i], unfinished_[i]), [this](const std::exception_ptr& thrown) {
      if (thrown) thrown_ = thrown;
      --running_strands_;
      changed_.cancel();
    });
  co_await until(running_strands_);
  co_await until(running_operations_);
  if (thrown_) std::rethrow_exception(thrown_);
  std::vector<operation_report> reports;
  for (operation& one : operations_)
    if (one.started) reports.push_back(std::move(one.report));
  co_return reports;
}

asio::awaitable<void> program_runner::form_groups() {
  for (const simulation::split_plan& plan : what_.splits) {
    const communicator parent = groups_[static_cast<std::size_t>(plan.parent)];
    if (!parent) continue;
    const auto wish = plan.wishes[static_cast<std::size_t>(parent.rank())];
    const communicator made = co_await parent.split(wish.color, wish.key);
    if (static_cast<bool>(made) != (wish.group >= 0)) throw std::logic_error("a split made a group that nobody wanted");
    if (!made) continue;
    const auto& members = what_.groups[static_cast<std::size_t>(wish.group)].members;
    const int self = groups_[0].rank();
    if (made.size() != static_cast<int>(members.size()) || members[static_cast<std::size_t>(made.rank())] != self)
      throw std::logic_error("a split made a group of others");
    groups_[static_cast<std::size_t>(wish.group)] = made;
  }
}

asio::awaitable<void> program_runner::run_strand(const simulation::strand& what, int& unfinished) {
  for (const simulation::step& next : what) {
    for (const int number : next.operations) prepare(number, unfinished);
    if (next.as_batch)
      start_batches(next.operations);
    else
      for (const int number : next.operations) start(number);
    if (next.waits) co_await until(unfinished);
  }
}

asio::awaitable<void> program_runner::until(const int& count_is_zero) {
  while (count_is_zero != 0) co_await changed_.async_wait(with_code);
}

// ---- starting

void program_runner::prepare(int number, int& unfinished) {
  operation& one = at(number);
  one.report.number = number;
  one.report.order = started_++;
  one.started = true;
  one.unfinished = &unfinished;
  ++unfinished;
  ++running_operations_;
}

void program_runner::lend(int number) {
  // Not the numbers that the program was made of.
  const auto draw = static_cast<std::uint32_t>(std::mt19937(what_.seed + static_cast<std::uint32_t>(number))());
  at(number).lent = memory_.take(group_of(number), draw, bytes_of(number));
  if (planned(number).sending) memory_.write(at(number).lent.view, content_of(number, bytes_of(number)));
}

void program_runner::start(int number) {
  operation& one = at(number);
  one.leaving = arm({number});
  one.report.owned = is_owned(what_, number);
  if (one.report.owned) return start_owned(number);
  lend(number);
  const communicator& comm = group_of(number);
  if (planned(number).sending)
    start_send_or_receive(number, comm.send(one.lent.view, to_peer(number)));
  else
    start_send_or_receive(number, comm.recv(one.lent.view, from_peer(number)));
}

void program_runner::start_owned(int number) {
  device_buffer& owned = at(number).owned;
  const communicator& comm = group_of(number);
  const std::size_t size = bytes_of(number);
  if (planned(number).sending && number % 4 == 0)
    return start_send_or_receive(number, comm.send(content_of(number, size), to_peer(number)));
  owned = comm.device_buffer(size);
  if (!planned(number).sending) return start_send_or_receive(number, comm.recv(owned, from_peer(number)));
  memory_.write(owned, content_of(number, size));
  start_send_or_receive(number, comm.send(owned, to_peer(number)));
}

template <class Operation>
void program_runner::start_send_or_receive(int number, Operation one) {
  const auto ended = [this, number](boost::system::error_code code, const auto& result) {
    if constexpr (std::convertible_to<decltype(result), const envelope&>)
      end(number, code, result);
    else
      end(number, code, {});
  };
  if (at(number).leaving)
    std::move(one)(asio::bind_cancellation_slot(at(number).leaving->signal.slot(), ended));
  else
    std::move(one)(ended);
}

// A batch is of one group.
void program_runner::start_batches(const std::vector<int>& numbers) {
  std::map<int, std::vector<int>> by_group;
  for (const int number : numbers) by_group[planned(number).group].push_back(number);
  for (const auto& [group, members] : by_group) {
    batch together;
    const auto leaving = arm(members);
    for (const int number : members) {
      at(number).leaving = leaving;
      lend(number);
      if (planned(number).sending)
        together.send(at(number).lent.view, to_peer(number));
      else
        together.recv(at(number).lent.view, from_peer(number));
    }
    const auto ended = [this, all = members](boost::system::error_code, const batch_result& result) {
      for (std::size_t i = 0; i < all.size(); ++i) end(all[i], result.entries[i].code, result.entries[i].envelope);
    };
    auto whole = groups_[static_cast<std::size_t>(group)].batch(together);
    if (leaving)
      std::move(whole)(asio::bind_cancellation_slot(leaving->signal.slot(), ended));
    else
      std::move(whole)(ended);
  }
}

/// Null where none of these operations is to be cancelled.
std::shared_ptr<program_runner::early_end> program_runner::arm(const std::vector<int>& numbers) {
  int ticks = -1;
  for (const int number : numbers)
    if (const int own = planned(number).cancelled_after; own >= 0 && (ticks < 0 || own < ticks)) ticks = own;
  if (ticks < 0) return nullptr;
  auto leaving = std::make_shared<early_end>(executor_);
  leaving->timer.expires_after(ticks * how_.tick);
  leaving->timer.async_wait([leaving](const boost::system::error_code& code) {
    if (code) return;
    leaving->asked = true;
    leaving->signal.emit(asio::cancellation_type::terminal);
  });
  return leaving;
}

std::chrono::nanoseconds program_runner::limit_of(int number) const {
  const int ticks = planned(number).limit;
  if (ticks < 0) return no_limit;
  return ticks > longest_timed_limit ? std::chrono::nanoseconds(how_.patience) : ticks * how_.tick;
}

destination program_runner::to_peer(int number) const {
  const auto& what = planned(number);
  destination where = to(what.peer, what.tag).via(what.via).within(limit_of(number));
  return what.until_matched ? where.until(matched) : where;
}

origin program_runner::from_peer(int number) const {
  const auto& what = planned(number);
  return {.rank = what.peer,
          .tag = what.tag,
          .any_rank = what.peer < 0,
          .every_tag = what.any_tag,
          .limit = limit_of(number)};
}

// ---- ending

void program_runner::end(int number, boost::system::error_code code, const envelope& got) {
  operation& one = at(number);
  if (one.ended) one.report.problem = "it ended twice";
  one.ended = true;
  one.report.code = code.value();
  one.report.source = got.source;
  one.report.tag = got.tag;
  if (one.leaving) {
    one.leaving->timer.cancel();
    one.report.cancelled = one.leaving->asked;
  }
  if (code && code.category() != engine_category()) one.report.problem = "it ended as " + code.message();
  if (!code && !planned(number).sending) examine(one);
  one.lent = {};
  one.owned = {};
  --*one.unfinished;
  --running_operations_;
  changed_.cancel();
}

/// What a receive has found in its memory.
void program_runner::examine(operation& one) {
  const std::vector<std::byte> bytes = memory_.read(one.report.owned ? one.owned.view() : one.lent.view);
  const std::size_t size = bytes.size();
  if (size == 0) return;
  std::memcpy(&one.report.message, bytes.data(), sizeof one.report.message);
  for (std::size_t i = 0; i < size; ++i) {
    if (bytes[i] == content_at(one.report.message, i)) continue;
    one.report.problem = "its payload is damaged at byte " + std::to_string(i) + " of " + std::to_string(size);
    return;
  }
}

// Whatever its size, a message that meets a receive of nothing is gone.
asio::awaitable<int> program_runner::drain() {
  int count = 0;
  for (const communicator& comm : groups_) {
    for (bool empty = !comm; !empty;) {
      const auto anything = from(any_source, any_tag).within(std::chrono::nanoseconds(0));
      auto [code, result] = co_await comm.recv(std::span<std::byte>(), anything)(with_code);
      if (code && code != errc::timed_out && code != errc::size_mismatch) throw error(code, result.details);
      empty = code == errc::timed_out;
      count += !empty;
    }
  }
  co_return count;
}

std::vector<int> program_runner::unfinished() const {
  std::vector<int> numbers;
  for (const operation& one : operations_)
    if (one.started && !one.ended) numbers.push_back(one.report.number);
  return numbers;
}

}  // namespace weft::testing
