// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>

namespace peers {

/// Throws what `errno` says unless `fine`.
inline void expect(bool fine, const char* what) {
  if (!fine) throw std::system_error(errno, std::generic_category(), what);
}

/// Memory of both processes, apart from what is measured.
struct shared_page {
  std::array<std::atomic<std::uint32_t>, 2> arrivals{};
  std::array<double, 2> cpu_seconds{};                ///< of the last run, by rank
  std::uint64_t next_units = 0;                       ///< what rank 0 has decided; 0: that was all
  std::array<std::array<char, 2000>, 2> addresses{};  ///< what the ranks tell each other before they can talk
};

/// Zeroed memory that a child shares, its pages there already.
inline void* shared_memory(std::size_t size) {
  void* memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  expect(memory != MAP_FAILED, "mmap");
  return memory;
}

/// One of the two processes. Rank 0 leads.
class process {
 public:
  process(int rank, shared_page& page) : rank_(rank), page_(&page) {}

  [[nodiscard]] bool leads() const { return rank_ == 0; }
  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int other() const { return 1 - rank_; }
  [[nodiscard]] shared_page& page() const { return *page_; }

  /// Returns once both are here. Between two of these each may write to the page what the other reads after the second.
  void meet() {
    page_->arrivals[rank_].store(++meetings_, std::memory_order_release);
    while (page_->arrivals[other()].load(std::memory_order_acquire) < meetings_) std::this_thread::yield();
  }

 private:
  int rank_;
  shared_page* page_;
  std::uint32_t meetings_ = 0;
};

/// Becomes two processes. Whatever ends one of them early ends both.
inline process fork_in_two() {
  auto& page = *new (shared_memory(sizeof(shared_page))) shared_page;
  std::signal(SIGCHLD, [](int) { _exit(1); });
  const pid_t child = fork();
  expect(child >= 0, "fork");
  if (child == 0) prctl(PR_SET_PDEATHSIG, SIGKILL);
  return {child == 0 ? 1 : 0, page};
}

/// Ends both, without the libraries' own farewells, which some never finish.
[[noreturn]] inline void leave(process own) {
  std::signal(SIGCHLD, SIG_DFL);
  own.meet();
  _exit(0);
}

}  // namespace peers
