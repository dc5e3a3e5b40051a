// SPDX-License-Identifier: Apache-2.0
#include "supervisor.hpp"

#include "environment.hpp"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace weft::run {
namespace {

std::vector<std::string> inherited_environment() {
  std::vector<std::string> variables;
  for (char** at = environ; at != nullptr && *at != nullptr; ++at) variables.emplace_back(*at);
  return variables;
}

job_settings settings_for(const job_options& options) {
  const char* key = std::getenv("WEFT_JOB_KEY");
  return {.world_size = options.ranks,
          .rendezvous = options.rendezvous.empty() ? fresh_rendezvous() : options.rendezvous,
          .job_key = key != nullptr && *key != '\0' ? key : fresh_job_key(),
          .tcp = options.tcp};
}

}  // namespace

supervisor::supervisor(job_options options)
    : options_(std::move(options)), to_output_(STDOUT_FILENO), to_errors_(STDERR_FILENO) {}

int supervisor::run() {
  start_ranks();
  while (!is_done()) {
    wait_for_event();
    handle_signals();
    handle_output_failure();
    advance_phase();
  }
  for_each_stream([](output_stream& stream) {
    stream.forward_available();
    stream.finish();
  });
  handle_output_failure();
  return status_;
}

void supervisor::start_ranks() {
  const job_settings job = settings_for(options_);
  const std::vector<std::string> inherited = inherited_environment();
  ranks_.reserve(static_cast<std::size_t>(options_.ranks));
  for (int rank = 0; rank < options_.ranks; ++rank) {
    const std::string prefix = options_.prefix ? std::string("[").append(std::to_string(rank)).append("] ") : "";
    rank_process process(options_.command, rank_environment(inherited, job, rank), signals_);
    output_stream output(process.take_output(), prefix, to_output_);
    output_stream errors(process.take_errors(), prefix, to_errors_);
    ranks_.push_back({std::move(process), std::move(output), std::move(errors), std::nullopt});
  }
}

bool supervisor::all_exited() const {
  return std::all_of(ranks_.begin(), ranks_.end(), [](const supervised_rank& each) { return each.ended.has_value(); });
}

bool supervisor::is_done() const {
  // A stream that is still open belongs to a child that a rank left behind, and gets no more time than the grace
  // period.
  return all_exited() &&
         (phase_ == phase::killed || std::none_of(ranks_.begin(), ranks_.end(), [](const supervised_rank& each) {
            return each.output.is_open() || each.errors.is_open();
          }));
}

void supervisor::wait_for_event() {
  std::vector<pollfd> waited{{.fd = signals_.descriptor_number(), .events = POLLIN, .revents = 0}};
  std::vector<output_stream*> streams;
  for_each_stream([&](output_stream& stream) {
    if (!stream.is_open()) return;
    waited.push_back({.fd = stream.descriptor_number(), .events = POLLIN, .revents = 0});
    streams.push_back(&stream);
  });
  if (poll(waited.data(), waited.size(), milliseconds_to_deadline()) <= 0) return;
  for (std::size_t i = 0; i < streams.size(); ++i)
    if (waited[i + 1].revents != 0) streams[i]->forward_some();
}

int supervisor::milliseconds_to_deadline() const {
  if (phase_ != phase::ending) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline_ - clock::now());
  return static_cast<int>(std::max(left, std::chrono::milliseconds(0)).count());
}

void supervisor::handle_signals() {
  for (const int number : signals_.take()) {
    if (number == SIGCHLD) {
      handle_exits();
    } else {
      signal_all(number);
    }
  }
}

void supervisor::handle_exits() {
  // One SIGCHLD may stand for several exits.
  for (std::size_t i = 0; i < ranks_.size(); ++i)
    if (!ranks_[i].ended) handle_exit(static_cast<int>(i), ranks_[i]);
}

void supervisor::handle_exit(int rank, supervised_rank& ended) {
  ended.ended = ended.process.poll_exit();
  if (!ended.ended || !ended.ended->is_failure() || phase_ != phase::running) return;
  // Its last words stand before the report.
  ended.output.forward_available();
  ended.errors.forward_available();
  note_failure(exit_status(*ended.ended), describe(rank, *ended.ended));
  if (!options_.keep_going) begin_ending();
}

void supervisor::handle_output_failure() {
  const int error = to_output_.failure() != 0 ? to_output_.failure() : to_errors_.failure();
  // After a rank has failed, this is one more reason to end, and none to report.
  if (error != 0 && status_ == 0)
    note_failure(1, std::string("cannot print the output of the ranks: ") + std::strerror(error));
  if (error != 0 && phase_ == phase::running) begin_ending();
}

void supervisor::advance_phase() {
  if (phase_ == phase::running && all_exited()) begin_ending();
  if (phase_ == phase::ending && clock::now() >= deadline_) kill_all();
}

void supervisor::note_failure(int status, const std::string& why) {
  report(why);
  if (status_ == 0) status_ = status;
}

void supervisor::begin_ending() {
  phase_ = phase::ending;
  deadline_ = clock::now() + options_.grace;
  signal_all(SIGTERM);
  // A stopped rank acts on SIGTERM only once it goes on.
  signal_all(SIGCONT);
}

void supervisor::kill_all() {
  phase_ = phase::killed;
  for (std::size_t i = 0; i < ranks_.size(); ++i)
    if (!ranks_[i].ended) report("rank " + std::to_string(i) + " did not end in time after SIGTERM: killing it");
  signal_all(SIGKILL);
}

void supervisor::signal_all(int number) {
  for (const supervised_rank& each : ranks_) each.process.signal(number);
}

void supervisor::report(const std::string& what) {
  to_errors_.print("weft-run: " + what + "\n");
}

template <class Visitor>
void supervisor::for_each_stream(Visitor visit) {
  for (supervised_rank& each : ranks_) {
    visit(each.output);
    visit(each.errors);
  }
}

}  // namespace weft::run
