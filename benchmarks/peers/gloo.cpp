// SPDX-License-Identifier: Apache-2.0
// Gloo's unbound buffers over its TCP transport, the only one that it has between processes. Mode: tcp.
#include "blocking.hpp"

#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/tcp/device.h>
#include <gloo/transport/unbound_buffer.h>

#include <filesystem>
#include <map>
#include <memory>

namespace {

using namespace peers;
using gloo::transport::UnboundBuffer;

std::shared_ptr<gloo::rendezvous::Context> connect(process own) {
  const std::filesystem::path folder = "/tmp/weft-peers-gloo-" + std::to_string(own.leads() ? getpid() : getppid());
  std::filesystem::create_directory(folder);
  gloo::rendezvous::FileStore store(folder);
  gloo::transport::tcp::attr local;
  local.hostname = "127.0.0.1";
  auto device = gloo::transport::tcp::CreateDevice(local);
  auto context = std::make_shared<gloo::rendezvous::Context>(own.rank(), 2);
  context->connectFullMesh(store, device);
  own.meet();
  if (own.leads()) std::filesystem::remove_all(folder);
  return context;
}

class gloo_end {
 public:
  explicit gloo_end(process own) : other_(own.other()), context_(connect(own)) {}

  void start_send(std::size_t slot, const_bytes message) { started(slot, message).send(other_, slot); }
  void start_receive(std::size_t slot, bytes message) { started(slot, message).recv(other_, slot); }
  void finish_send(std::size_t slot) { under_way_[slot]->waitSend(); }
  void finish_receive(std::size_t slot) { under_way_[slot]->waitRecv(); }

  // Beyond the slots of a stream, which may be under way.
  void send(const_bytes message) {
    start_send(in_turn, message);
    finish_send(in_turn);
  }
  void receive(bytes message) {
    start_receive(in_turn, message);
    finish_receive(in_turn);
  }

 private:
  static constexpr std::size_t in_turn = 64;

  /// Gloo's buffers are made once for each piece of memory in each slot.
  UnboundBuffer& started(std::size_t slot, const_bytes message) {
    auto& buffer = buffers_[{slot, message.data()}];
    if (!buffer) buffer = context_->createUnboundBuffer(const_cast<std::byte*>(message.data()), message.size());
    under_way_[slot] = buffer.get();
    return *buffer;
  }

  int other_;
  std::shared_ptr<gloo::rendezvous::Context> context_;
  std::map<std::pair<std::size_t, const void*>, std::unique_ptr<UnboundBuffer>> buffers_;
  std::array<UnboundBuffer*, in_turn + 1> under_way_{};
};

}  // namespace

int main(int argc, char** argv) {
  const job asked = parse_job(argc, argv);
  exchange all(asked, fork_in_two());
  gloo_end end(all.own);
  measure_blocking("Gloo", "", end, all);  // it has no version of its own
  leave(all.own);
}
