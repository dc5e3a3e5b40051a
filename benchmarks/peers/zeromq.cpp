// SPDX-License-Identifier: Apache-2.0
// ZeroMQ's pair of sockets. Mode: ipc (a Unix socket).
#include "blocking.hpp"

#include <zmq.h>

namespace {

using namespace peers;

class zeromq_end {
 public:
  explicit zeromq_end(process own) : context_(zmq_ctx_new()), socket_(zmq_socket(context_, ZMQ_PAIR)) {
    // A name of the abstract kind, which leaves no file behind.
    const std::string address = "ipc://@weft-peers-" + std::to_string(own.leads() ? getpid() : getppid());
    if (own.leads()) expect(zmq_bind(socket_, address.c_str()) == 0, "zmq_bind");
    own.meet();
    if (!own.leads()) expect(zmq_connect(socket_, address.c_str()) == 0, "zmq_connect");
  }

  void send(const_bytes message) {
    expect(zmq_send(socket_, message.data(), message.size(), 0) == int(message.size()), "zmq_send");
  }
  void receive(bytes message) {
    expect(zmq_recv(socket_, message.data(), message.size(), 0) == int(message.size()), "zmq_recv");
  }

 private:
  void* context_;
  void* socket_;
};

std::string version_text() {
  int major = 0, minor = 0, patch = 0;
  zmq_version(&major, &minor, &patch);
  return std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(patch);
}

}  // namespace

int main(int argc, char** argv) {
  const job asked = parse_job(argc, argv);
  exchange all(asked, fork_in_two());
  zeromq_end end(all.own);
  measure_blocking("ZeroMQ", version_text(), end, all);
  leave(all.own);
}
