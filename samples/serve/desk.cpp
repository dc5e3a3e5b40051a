// SPDX-License-Identifier: Apache-2.0
#include "desk.hpp"

#include <unistd.h>

#include <sstream>
#include <string_view>

namespace serve {
namespace {

std::string_view name(dispatcher::state state) {
  switch (state) {
    case dispatcher::state::expected:
      return "expected";
    case dispatcher::state::ready:
      return "ready";
    case dispatcher::state::lost:
      return "lost";
  }
  return "";
}

void write_workers(std::ostream& out, const dispatcher& workers) {
  int rank = 1;
  for (const dispatcher::worker& one : workers.workers()) {
    out << (rank == 1 ? "" : ",") << "{\"rank\":" << rank << ",\"pid\":" << one.pid << ",\"state\":\""
        << name(one.state) << "\",\"in_flight\":" << one.in_flight << ",\"taken\":" << one.taken << '}';
    ++rank;
  }
}

}  // namespace

void counters::add(ending how) noexcept {
  switch (how) {
    case ending::answered:
      ++answered;
      break;
    case ending::refused:
      ++refused;
      break;
    case ending::failed:
      ++failed;
      break;
    case ending::too_late:
      ++too_late;
      break;
    case ending::cut_off:
      ++cut_off;
      break;
    case ending::client_left:
      ++cancelled;
      break;
  }
}

std::string stats_of(const desk& shared) {
  const counters& now = shared.so_far;
  std::ostringstream out;
  out << "{\"pid\":" << getpid() << ",\"requests\":" << now.requests << ",\"answered\":" << now.answered
      << ",\"refused\":" << now.refused << ",\"failed\":" << now.failed << ",\"too_late\":" << now.too_late
      << ",\"cut_off\":" << now.cut_off << ",\"cancelled\":" << now.cancelled << ",\"failed_over\":" << now.failed_over
      << ",\"given_up\":" << now.given_up << ",\"in_flight\":" << shared.workers.in_flight()
      << ",\"unmatched\":" << shared.comm.stats().unmatched << ",\"workers\":[";
  write_workers(out, shared.workers);
  out << "]}\n";
  return out.str();
}

}  // namespace serve
