// SPDX-License-Identifier: Apache-2.0
// A floor: bytes copied into a ring in shared memory and out of it, as a link of weft does, without anything else.
// Modes: busy (polls for ever), spin20 (20 us, then sleeps in epoll on an eventfd), sleep (at once).
#include "blocking.hpp"
#include "epoll_wait.hpp"

#include <sys/eventfd.h>

#include <optional>

namespace {

using namespace peers;

// Both as in weft: what fits, and what is copied before the other end hears of it.
constexpr std::size_t ring_bytes = std::size_t{1} << 20;
constexpr std::size_t published_at_once = std::size_t{128} << 10;
constexpr std::size_t room_to_wake_for = ring_bytes / 4;

struct ring {
  alignas(64) std::atomic<std::uint64_t> written;
  alignas(64) std::atomic<std::uint64_t> taken;
  alignas(64) std::atomic<bool> reader_sleeps;
  alignas(64) std::atomic<bool> writer_sleeps;
  alignas(64) std::byte bytes[ring_bytes];
};

/// How an end waits, and for how long it spins before it sleeps; none: it never sleeps.
class waiter {
 public:
  waiter(std::optional<std::chrono::microseconds> spin, int own_event, int other_event)
      : spin_(spin), own_event_(own_event), other_event_(other_event), epoll_(own_event, EPOLLIN) {}

  template <class Condition>
  void wait(std::atomic<bool>& sleeps, Condition&& is_met) {
    if (spins_until(is_met)) return;
    for (;;) {
      // Whoever sleeps says so and looks again; whoever has news publishes it and looks whether the other sleeps.
      sleeps.store(true);
      if (is_met()) break;
      epoll_.wait();
      std::uint64_t count = 0;
      expect(read(own_event_, &count, sizeof count) == sizeof count || errno == EAGAIN, "read");
      if (is_met()) break;
    }
    sleeps.store(false);
  }

  void wake(std::atomic<bool>& sleeps) {
    if (!spin_ || !sleeps.load() || !sleeps.exchange(false)) return;
    const std::uint64_t one = 1;
    expect(write(other_event_, &one, sizeof one) == sizeof one, "write");
  }

 private:
  template <class Condition>
  bool spins_until(Condition&& is_met) {
    constexpr int looks_per_clock = 8;
    if (is_met()) return true;
    const auto begin = exchange::clock::now();
    while (!spin_ || exchange::clock::now() - begin < *spin_)
      for (int i = 0; i < looks_per_clock; ++i, __builtin_ia32_pause())
        if (is_met()) return true;
    return false;
  }

  std::optional<std::chrono::microseconds> spin_;
  int own_event_, other_event_;
  epoll epoll_;
};

class ring_end {
 public:
  ring_end(ring& out, ring& in, waiter& waits) : out_(out), in_(in), waits_(waits) {}

  void send(const_bytes message) {
    while (!message.empty()) {
      std::size_t room = 0;
      waits_.wait(out_.writer_sleeps, [&] { return (room = ring_bytes - (written_ - out_.taken.load())) != 0; });
      const std::size_t size = piece(message.size(), room, written_);
      std::memcpy(out_.bytes + written_ % ring_bytes, message.data(), size);
      message = message.subspan(size);
      out_.written.store(written_ += size);
      waits_.wake(out_.reader_sleeps);
    }
  }

  void receive(bytes message) {
    while (!message.empty()) {
      std::size_t held = 0;
      waits_.wait(in_.reader_sleeps, [&] { return (held = in_.written.load() - taken_) != 0; });
      const std::size_t size = piece(message.size(), held, taken_);
      std::memcpy(message.data(), in_.bytes + taken_ % ring_bytes, size);
      message = message.subspan(size);
      in_.taken.store(taken_ += size);
      if (ring_bytes - (held - size) >= room_to_wake_for) waits_.wake(in_.writer_sleeps);
    }
  }

 private:
  static std::size_t piece(std::size_t wanted, std::size_t there, std::uint64_t position) {
    return std::min({wanted, there, published_at_once, ring_bytes - position % ring_bytes});
  }

  ring& out_;
  ring& in_;
  waiter& waits_;
  std::uint64_t written_ = 0, taken_ = 0;
};

std::optional<std::chrono::microseconds> spin_of(std::string_view mode) {
  if (mode == "busy") return std::nullopt;
  return std::chrono::microseconds(mode == "spin20" ? 20 : 0);
}

}  // namespace

int main(int argc, char** argv) {
  const job asked = parse_job(argc, argv);
  auto* rings = static_cast<ring*>(shared_memory(2 * sizeof(ring)));
  const std::array<int, 2> events{eventfd(0, EFD_NONBLOCK), eventfd(0, EFD_NONBLOCK)};
  const process own = fork_in_two();
  waiter waits(spin_of(asked.mode), events[own.rank()], events[own.other()]);
  ring_end end(rings[own.rank()], rings[own.other()], waits);
  exchange all(asked, own);
  measure_blocking("ring", "", end, all);
  leave(all.own);
}
