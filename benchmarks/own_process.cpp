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
  std::ifstream words("/proc/self/smaps_rollup");
  double kibibytes = 0;
  int found = 0;
  for (std::string word; words >> word;) {
    if (word != "Pss_Anon:" && word != "Pss_Shmem:") continue;
    double each = 0;
    words >> each;
    kibibytes += each;
    ++found;
  }
  if (found == 2) return kibibytes * 1024;
  throw std::runtime_error("/proc/self/smaps_rollup has not the lines Pss_Anon and Pss_Shmem (Linux 5.4 and later)");
}

}  // namespace weft::bench
