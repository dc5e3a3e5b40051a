// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "two_processes.hpp"

#include <sys/epoll.h>

namespace peers {

/// Sleeps until one file descriptor is ready, as an event loop does.
class epoll {
 public:
  epoll(int watched, std::uint32_t events) : epoll_(epoll_create1(EPOLL_CLOEXEC)) {
    expect(epoll_ >= 0, "epoll_create1");
    epoll_event event{.events = events, .data = {}};
    expect(epoll_ctl(epoll_, EPOLL_CTL_ADD, watched, &event) == 0, "epoll_ctl");
  }
  epoll(const epoll&) = delete;
  epoll& operator=(const epoll&) = delete;
  ~epoll() { close(epoll_); }

  void wait() {
    epoll_event event;
    while (epoll_wait(epoll_, &event, 1, -1) != 1) expect(errno == EINTR, "epoll_wait");
  }

 private:
  int epoll_;
};

}  // namespace peers
