// SPDX-License-Identifier: Apache-2.0
#include "own_process.hpp"

#include <sys/resource.h>

#include <fstream>
#include <stdexcept>
#include <string>

namespace weft::bench {
namespace {

double seconds_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

}  // namespace

double cpu_seconds_now() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  return seconds_of(used.ru_utime) + seconds_of(used.ru_stime);
}

double resident_bytes_now() {
  std::ifstream lines("/proc/self/smaps_rollup");
  double kibibytes = 0;
  for (std::string word; lines >> word;)
    if (word == "Pss:" && lines >> kibibytes) return kibibytes * 1024;
  throw std::runtime_error("/proc/self/smaps_rollup does not say how much memory this process has: no line 'Pss:'");
}

}  // namespace weft::bench
