// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/cuda_device.hpp"

#include <weft/engine/error.hpp>

#include <algorithm>
#include <cstring>
#include <utility>

namespace weft::detail {
namespace {

/// Pair communicators are many, and move one transfer each way: NCCL's default would take some 50 MB for each (vLLM's
/// own note for 8 channels).
constexpr int pair_ctas = 4;

/// An estimate, as nobody has measured it for so few: in proportion to those 50 MB, which are 52.
constexpr std::size_t estimated_pair_bytes = std::size_t{26} << 20;

constexpr std::size_t no_bytes = memory_pool::alignment;

/// Copies between its memory and the host's: large enough for most of the bandwidth of a bus.
constexpr std::size_t chunk_bytes = std::size_t{512} << 10;

/// The connection of a direction is a group of its own. Entries of the log are numbered from 1.
constexpr group_id connection = 0;

}  // namespace

cuda_device::cuda_device(const cuda_options& options, device_events& events)
    : options_(options),
      events_(events),
      memory_((demand(cudaSetDevice(options.ordinal), "cudaSetDevice"),
               std::make_shared<cuda_memory>(options.ordinal, options.device_bytes + no_bytes))),
      chores_(std::make_shared<cuda_chores>(options.ordinal, chunk_bytes)),
      pinned_(options.pinned_bytes),
      nothing_(memory_->take(no_bytes)),
      aborter_(options.ordinal) {}

// What NCCL still has is aborted: destroying it might wait for ranks that never come.
cuda_device::~cuda_device() {
  for (auto& [id, state] : communicators_)
    if (state.nccl)
      if (const ncclComm_t handle = state.nccl->release()) (void)aborter_.abort(handle);
  memory_->give_back(nothing_);
}

std::string cuda_device::card() const {
  return "cuda-" + std::to_string(options_.ordinal);
}

std::size_t cuda_device::pair_bytes() const noexcept {
  return estimated_pair_bytes;
}

void cuda_device::set_peers(std::vector<std::string>, int self, std::uint64_t) {
  self_ = self;
}

// Each thread chooses its device.
void cuda_device::enter_thread() {
  (void)cudaSetDevice(options_.ordinal);
}

bool cuda_device::is_quiet() const {
  return !calling_ && std::all_of(communicators_.begin(), communicators_.end(),
                                  [](const auto& one) { return one.second.launched == 0 && !one.second.abort; });
}

bool cuda_device::needs_polling() const noexcept {
  return calling_ || !chores_->empty() || !commands_.empty() || !answers_.empty() || !coming_to_rest_.empty() ||
         std::any_of(communicators_.begin(), communicators_.end(),
                     [](const auto& one) { return !one.second.groups.empty() || one.second.abort; });
}

bool cuda_device::poll() {
  bool changed = answer();
  changed = advance_call() || changed;
  changed = start_commands() || changed;
  changed = find_ends() || changed;
  changed = find_aborted() || changed;
  changed = chores_->advance([this](auto name, const auto& code) { events_.on_chore_done(name, code); }) || changed;
  changed = std::erase_if(coming_to_rest_, [](const auto& one) { return one->is_at_rest(); }) != 0 || changed;
  return answer() || changed;
}

bool cuda_device::answer() {
  const bool any = !answers_.empty();
  for (; !answers_.empty(); answers_.pop_front()) answers_.front()();
  return any;
}

// ---- calls of NCCL's that take their time

// One that another rank has aborted before its creation began here was never made.
cuda_device::communicator_state* cuda_device::usable(communicator_id communicator) {
  const auto found = communicators_.find(communicator);
  return found == communicators_.end() || found->second.failure || !found->second.nccl ? nullptr : &found->second;
}

void cuda_device::follow(communicator_id communicator, const char* name, ncclResult_t result,
                         std::function<void()> then) {
  if (result == ncclSuccess) return then();
  if (result != ncclInProgress) return fail(communicator, errc::set_up_failed, describe(name, code_of(result)));
  calling_ = call_in_progress{communicator, name, std::move(then)};
}

// A call that was aborted is over when the abort is: NCCL has one group at a time.
bool cuda_device::advance_call() {
  if (!calling_) return false;
  const communicator_state* state = usable(calling_->communicator);
  if (state == nullptr && communicators_.at(calling_->communicator).abort) return false;
  const ncclResult_t now = state != nullptr ? state->nccl->state() : ncclSystemError;
  if (now == ncclInProgress) return false;
  call_in_progress ended = std::move(*calling_);
  calling_.reset();
  if (state != nullptr) follow(ended.communicator, ended.name, now, std::move(ended.then));
  return true;
}

bool cuda_device::start_commands() {
  bool any = false;
  while (!calling_ && !commands_.empty()) {
    command next = std::move(commands_.front());
    commands_.pop_front();
    if (!next()) {
      commands_.push_front(std::move(next));
      return any;
    }
    any = true;
  }
  return any;
}

// ---- set-ups

unique_id cuda_device::make_unique_id() {
  ncclUniqueId made;
  unique_id id{};
  // Where it fails, creating a communicator with it fails, and says why.
  if (ncclGetUniqueId(&made) == ncclSuccess) std::memcpy(id.data(), &made, sizeof made);
  return id;
}

void cuda_device::create(communicator_id communicator, std::span<const int> members, const unique_id& id) {
  setting_up_ = communicator;
  commands_.emplace_back([this, communicator, id, all = std::vector<int>(members.begin(), members.end())] {
    communicator_state& state = communicators_[communicator];
    if (state.failure) return true;
    try {
      state.nccl = std::make_unique<nccl_communicator>(all, self_);
    } catch (const boost::system::system_error& problem) {
      fail(communicator, errc::set_up_failed, problem.what());
      return true;
    }
    follow(communicator, "ncclCommInitRankConfig", state.nccl->begin_creation(id, all.size() == 2 ? pair_ctas : 0),
           [this, communicator] { end_set_up(communicator, {}); });
    return true;
  });
}

// NCCL connects with the first transfer of a direction, and blocks meanwhile until the other end does: a byte is sent.
void cuda_device::connect(communicator_id communicator, int source, int destination) {
  setting_up_ = communicator;
  const bool sending = source == self_;
  commands_.emplace_back([this, communicator, sending, peer = sending ? destination : source] {
    communicator_state* state = usable(communicator);
    if (state == nullptr) {
      end_set_up(communicator, errc::set_up_failed);
      return true;
    }
    const device_transfer byte{.peer = peer, .sending = sending, .bytes = 0, .memory = {}};
    state->groups.emplace_back(connection, std::span(&byte, 1));
    return launch(communicator);
  });
}

void cuda_device::destroy(communicator_id communicator) {
  setting_up_ = communicator;
  commands_.emplace_back([this, communicator] {
    communicator_state* state = usable(communicator);
    if (state != nullptr && !state->groups.empty()) return false;
    const auto finish = [this, communicator] {
      (void)communicators_.at(communicator).nccl->destroy();
      communicators_.erase(communicator);
      end_set_up(communicator, {});
    };
    if (state != nullptr)
      follow(communicator, "ncclCommFinalize", state->nccl->begin_finalizing(), finish);
    else
      end_set_up(communicator, {});
    return true;
  });
}

// What an aborted communicator still had under way may end after the next set-up has begun.
void cuda_device::end_set_up(communicator_id communicator, boost::system::error_code code) {
  if (setting_up_ != communicator) return;
  setting_up_.reset();
  answers_.emplace_back([this, code] { events_.on_set_up(code); });
}

void cuda_device::abort_set_up(boost::system::error_code code) {
  if (setting_up_) fail(*setting_up_, code, "its set-up was given up: " + code.message());
}

// ---- leases

// Whoever has the device finds no kernel on it, and no thread that calls NCCL.
void cuda_device::lend() {
  commands_.emplace_back([this] {
    if (!is_quiet() || !coming_to_rest_.empty()) return false;
    aborter_.hold();
    answers_.emplace_back([this] { events_.on_lent(); });
    return true;
  });
}

void cuda_device::take_back() {
  aborter_.go_on();
}

// ---- groups

void cuda_device::issue(communicator_id communicator, group_id group, std::span<const device_transfer> transfers) {
  communicators_[communicator].groups.emplace_back(group, transfers);
  commands_.emplace_back([this, communicator] { return launch(communicator); });
}

// A group of which nothing is left is issued to be reported, also on a communicator that was never made here.
bool cuda_device::launch(communicator_id communicator) {
  communicator_state& state = communicators_.at(communicator);
  if (state.failure) return true;  // it ends with what was aborted
  device_group& group = state.groups[state.launched];
  if (group.size() == 0) {
    ++state.launched;  // nothing to wait for but its turn
    return true;
  }
  if (!find_memory(group)) return false;
  try {
    group.event = event_pool_.take();
    group.fill(state.nccl->stream());
    post(communicator, group);
  } catch (const boost::system::system_error& problem) {
    fail(communicator, errc::transfer_aborted, problem.what());
  }
  return true;
}

// More is taken from CUDA only while nothing is under way; what waits for that stands behind what is.
bool cuda_device::find_memory(device_group& group) {
  const std::size_t lacking = group.find_memory(pinned_, *memory_, nothing_);
  if (lacking == 0) return true;
  if (!is_quiet()) return false;
  pinned_.grow(std::max(lacking, options_.pinned_bytes));
  return group.find_memory(pinned_, *memory_, nothing_) == 0;
}

void cuda_device::post(communicator_id communicator, device_group& group) {
  const nccl_communicator& nccl = *communicators_.at(communicator).nccl;
  ncclResult_t result = ncclSuccess;
  nccl_group calls;
  for (std::size_t i = 0; i < group.size() && result == ncclSuccess; ++i) {
    const device_transfer& one = group.transfer(i);
    const std::size_t bytes = group.id() == connection ? 1 : one.bytes;
    result = one.sending ? nccl.send(group.memory(i), bytes, one.peer) : nccl.receive(group.memory(i), bytes, one.peer);
  }
  const ncclResult_t ended = calls.end();
  follow(communicator, "ncclGroupEnd", result == ncclSuccess ? ended : result,
         [this, communicator, &group] { record(communicator, group); });
}

// Only now: an event that is recorded before NCCL has put its kernels on the stream is done too early.
void cuda_device::record(communicator_id communicator, device_group& group) {
  communicator_state& state = communicators_.at(communicator);
  try {
    group.take_apart(state.nccl->stream());
    demand(cudaEventRecord(group.event, state.nccl->stream()), "cudaEventRecord");
    ++state.launched;
  } catch (const boost::system::system_error& problem) {
    fail(communicator, errc::transfer_aborted, problem.what());
  }
}

bool cuda_device::find_ends() {
  bool any = false;
  for (auto& [id, state] : communicators_)
    if (!state.failure && state.launched != 0) any = find_ends(id, state) || any;
  return any;
}

bool cuda_device::find_ends(communicator_id id, communicator_state& state) {
  bool any = false;
  while (state.launched != 0) {
    const cudaEvent_t event = state.groups.front().event;
    const cudaError_t now = event != nullptr ? cudaEventQuery(event) : cudaSuccess;
    if (now == cudaErrorNotReady) break;
    if (now != cudaSuccess) {
      fail(id, errc::transfer_aborted, describe("cudaEventQuery", code_of(now)));
      return true;
    }
    end_front(id, state, {});
    any = true;
  }
  const bool calls = calling_ && calling_->communicator == id;
  const ncclResult_t error = calls || state.launched == 0 ? ncclSuccess : state.nccl->state();
  if (error == ncclSuccess) return any;
  fail(id, errc::transfer_aborted, describe("asynchronous error of NCCL", code_of(error)));
  return true;
}

void cuda_device::end_front(communicator_id id, communicator_state& state, boost::system::error_code code) {
  device_group done = std::move(state.groups.front());
  state.groups.pop_front();
  if (state.launched != 0) --state.launched;
  if (!code) done.deliver();
  done.give_back(pinned_, *memory_);
  if (done.event != nullptr) event_pool_.give_back(done.event);
  if (done.id() == connection) return end_set_up(id, code);
  answers_.emplace_back([this, id, group = done.id(), codes = std::vector(done.size(), code)] {
    events_.on_group_done(id, group, codes);
  });
}

// ---- failure

void cuda_device::fail(communicator_id id, boost::system::error_code code, std::string why) {
  communicator_state& state = communicators_[id];
  if (state.failure) return;
  state.failure = code;
  if (const ncclComm_t handle = state.nccl ? state.nccl->release() : nullptr) state.abort = aborter_.abort(handle);
  answers_.emplace_back([this, id, code, text = std::move(why)] { events_.on_communicator_failed(id, code, text); });
  end_set_up(id, code);
}

// Memory under a kernel stays where it is until the kernel is gone.
bool cuda_device::find_aborted() {
  const auto ended = aborter_.take_ended();
  bool any = false;
  for (auto& [id, state] : communicators_) {
    if (!state.failure || (state.groups.empty() && !state.abort)) continue;
    const auto over =
        std::find_if(ended.begin(), ended.end(), [job = state.abort](const auto& one) { return job == one.which; });
    if (state.abort && over == ended.end()) continue;
    if (state.abort && !over->in_time) lose_memory(state);
    state.abort.reset();
    state.launched = 0;
    while (!state.groups.empty()) end_front(id, state, errc::transfer_aborted);
    if (state.nccl) coming_to_rest_.push_back(std::move(state.nccl));
    any = true;
  }
  return any;
}

// Its kernels may still run: nobody else gets what they might touch.
void cuda_device::lose_memory(communicator_state& state) {
  for (device_group& group : state.groups) group.lose_memory();
  (void)state.nccl.release();
}

void cuda_device::abort(communicator_id communicator, boost::system::error_code code) {
  fail(communicator, code, "all of its ranks abort it");
}

// The other end waits for this one, and NCCL has no other way to tell it.
void cuda_device::refuse(communicator_id communicator, int peer, bool) {
  fail(communicator, errc::transfer_aborted, "a transfer with rank " + std::to_string(peer) + " was taken back");
}

void cuda_device::on_rank_gone(int rank, boost::system::error_code code) {
  // One that has left has carried out all that the log had for it, to the destruction of its communicators.
  if (code == errc::peer_left) return;
  for (auto& [id, state] : communicators_)
    if (state.nccl && state.nccl->has(rank)) fail(id, code, "rank " + std::to_string(rank) + " is lost");
}

void cuda_device::abort_all(boost::system::error_code code) {
  const std::string why = "all communicators are aborted, because the log of their transfers has ended";
  if (setting_up_) fail(*setting_up_, code, why);
  for (auto& [id, state] : communicators_) fail(id, code, why);
}

}  // namespace weft::detail
