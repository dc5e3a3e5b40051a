// SPDX-License-Identifier: Apache-2.0
// A floor: a Unix socket that does not block, and epoll. A read comes after an epoll_wait, as in an event loop. Mode:
// epoll.
#include "blocking.hpp"
#include "epoll_wait.hpp"

#include <sys/socket.h>

namespace {

using namespace peers;

class socket_end {
 public:
  explicit socket_end(int socket) : socket_(socket), readable_(socket, EPOLLIN), writable_(socket, EPOLLOUT) {}

  void send(const_bytes message) {
    while (!message.empty()) {
      const ssize_t written = write(socket_, message.data(), message.size());
      expect(written > 0 || errno == EAGAIN, "write");
      if (written > 0)
        message = message.subspan(written);
      else
        writable_.wait();
    }
  }

  void receive(bytes message) {
    while (!message.empty()) {
      readable_.wait();
      const ssize_t size = read(socket_, message.data(), message.size());
      expect(size > 0 || errno == EAGAIN, "read");
      if (size > 0) message = message.subspan(size);
    }
  }

 private:
  int socket_;
  epoll readable_, writable_;
};

}  // namespace

int main(int argc, char** argv) {
  const job asked = parse_job(argc, argv);
  std::array<int, 2> sockets{};
  expect(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, sockets.data()) == 0, "socketpair");
  const process own = fork_in_two();
  close(sockets[own.other()]);
  socket_end end(sockets[own.rank()]);
  exchange all(asked, own);
  measure_blocking("unix socket", "", end, all);
  leave(all.own);
}
