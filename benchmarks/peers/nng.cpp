// SPDX-License-Identifier: Apache-2.0
// nng's pair of sockets. Mode: ipc (a Unix socket).
#include <nng/nng.h>
#include <nng/protocol/pair0/pair.h>

#include "blocking.hpp"

namespace {

using namespace peers;

void check(int failure, const char* what) {
  if (failure != 0) throw std::runtime_error(std::string(what) + ": " + nng_strerror(failure));
}

class nng_end {
 public:
  explicit nng_end(process own) {
    check(nng_pair0_open(&socket_), "nng_pair0_open");
    check(nng_socket_set_size(socket_, NNG_OPT_RECVMAXSZ, 0), "NNG_OPT_RECVMAXSZ");  // no limit
    constexpr int window = 64;
    check(nng_socket_set_int(socket_, NNG_OPT_SENDBUF, window), "NNG_OPT_SENDBUF");
    check(nng_socket_set_int(socket_, NNG_OPT_RECVBUF, window), "NNG_OPT_RECVBUF");
    // A name of the abstract kind, which leaves no file behind.
    const std::string address = "abstract://weft-peers-" + std::to_string(own.leads() ? getpid() : getppid());
    if (own.leads()) check(nng_listen(socket_, address.c_str(), nullptr, 0), "nng_listen");
    own.meet();
    if (!own.leads()) check(nng_dial(socket_, address.c_str(), nullptr, 0), "nng_dial");
  }

  void send(const_bytes message) {
    check(nng_send(socket_, const_cast<std::byte*>(message.data()), message.size(), 0), "nng_send");
  }
  void receive(bytes message) {
    std::size_t size = message.size();
    check(nng_recv(socket_, message.data(), &size, 0), "nng_recv");
    if (size != message.size()) throw std::runtime_error("a message of another size arrived");
  }

 private:
  nng_socket socket_{};
};

}  // namespace

int main(int argc, char** argv) {
  const job asked = parse_job(argc, argv);
  exchange all(asked, fork_in_two());
  nng_end end(all.own);
  measure_blocking("nng", nng_version(), end, all);
  leave(all.own);
}
