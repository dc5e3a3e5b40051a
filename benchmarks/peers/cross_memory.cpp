// SPDX-License-Identifier: Apache-2.0
// A floor: the receiver copies out of the sender's memory (process_vm_readv). Both poll for ever. Mode: busy.
#include "blocking.hpp"

#include <sys/uio.h>

namespace {

using namespace peers;

/// A message that its sender offers to the other side.
struct alignas(64) offer {
  std::atomic<bool> is_open;
  const std::byte* data;
  pid_t sender;
};
constexpr std::size_t slots = 64;
using offers = std::array<offer, slots>;

void poll_until(const std::atomic<bool>& flag, bool wanted) {
  while (flag.load(std::memory_order_acquire) != wanted) __builtin_ia32_pause();
}

class cross_memory_end {
 public:
  cross_memory_end(offers& out, offers& in) : out_(out), in_(in) {}

  void start_send(std::size_t slot, const_bytes message) {
    out_[slot].data = message.data();
    out_[slot].sender = getpid();
    out_[slot].is_open.store(true, std::memory_order_release);
  }
  void finish_send(std::size_t slot) { poll_until(out_[slot].is_open, false); }

  void start_receive(std::size_t slot, bytes message) { wanted_[slot] = message; }
  void finish_receive(std::size_t slot) {
    poll_until(in_[slot].is_open, true);
    copy_from(in_[slot], wanted_[slot]);
    in_[slot].is_open.store(false, std::memory_order_release);
  }

  void send(const_bytes message) {
    start_send(0, message);
    finish_send(0);
  }
  void receive(bytes message) {
    start_receive(0, message);
    finish_receive(0);
  }

 private:
  static void copy_from(const offer& offered, bytes message) {
    for (const std::byte* from = offered.data; !message.empty();) {
      const iovec there{const_cast<std::byte*>(from), message.size()};
      const iovec here{message.data(), message.size()};
      const ssize_t copied = process_vm_readv(offered.sender, &here, 1, &there, 1, 0);
      expect(copied > 0, "process_vm_readv");
      message = message.subspan(copied);
      from += copied;
    }
  }

  offers& out_;
  offers& in_;
  std::array<bytes, slots> wanted_;
};

}  // namespace

int main(int argc, char** argv) {
  const job asked = parse_job(argc, argv);
  auto* both = static_cast<offers*>(shared_memory(2 * sizeof(offers)));
  const process own = fork_in_two();
  prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);  // where the kernel lets only parents look (Yama)
  cross_memory_end end(both[own.rank()], both[own.other()]);
  exchange all(asked, own);
  measure_blocking("cross-memory attach", "", end, all);
  leave(all.own);
}
