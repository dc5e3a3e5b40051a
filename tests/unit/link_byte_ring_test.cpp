// SPDX-License-Identifier: Apache-2.0
// Bytes through shared memory: all of them in order, nobody sleeps through news, and a ring that lies is found out.
#include "link/byte_ring.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstring>
#include <memory>
#include <random>
#include <thread>
#include <vector>

using namespace weft::detail;
namespace asio = boost::asio;

namespace {

struct ring {
  std::unique_ptr<ring_memory> memory = std::make_unique<ring_memory>();
  ring_writer writer{*memory};
  ring_reader reader{*memory};

  std::size_t write(const std::vector<std::byte>& bytes) {
    const std::array<asio::const_buffer, 1> one{asio::buffer(bytes)};
    return writer.write(one).value().bytes;
  }
  std::size_t read(std::vector<std::byte>& bytes) {
    const std::array<asio::mutable_buffer, 1> one{asio::buffer(bytes)};
    return reader.read(one).value().bytes;
  }
};

std::vector<std::byte> pattern(std::size_t size, std::size_t first = 0) {
  std::vector<std::byte> made(size);
  for (std::size_t i = 0; i < size; ++i) made[i] = static_cast<std::byte>((first + i) * 7 + (first + i) / 251);
  return made;
}

}  // namespace

TEST_CASE("bytes come out as they went in, around the end of the memory too") {
  ring one;
  std::random_device device;
  const auto seed = device();
  CAPTURE(seed);
  std::mt19937 random(seed);
  std::size_t written = 0;
  std::size_t taken = 0;
  while (taken < 5 * ring_bytes) {
    const auto out = pattern(random() % (ring_bytes / 3), written);
    written += one.write(out);
    std::vector<std::byte> in(random() % (ring_bytes / 3));
    in.resize(one.read(in));
    REQUIRE((in == pattern(in.size(), taken)));
    taken += in.size();
  }
  CHECK(written - taken <= ring_bytes);
}

TEST_CASE("several pieces are gathered and scattered") {
  ring one;
  const auto a = pattern(10);
  const auto b = pattern(20, 10);
  const std::array<asio::const_buffer, 3> out{asio::buffer(a), asio::const_buffer(), asio::buffer(b)};
  CHECK(one.writer.write(out)->bytes == 30);
  std::vector<std::byte> c(3);
  std::vector<std::byte> d(50);
  const std::array<asio::mutable_buffer, 2> in{asio::buffer(c), asio::buffer(d)};
  CHECK(one.reader.read(in)->bytes == 30);
  c.insert(c.end(), d.begin(), d.begin() + 27);
  CHECK((c == pattern(30)));
}

TEST_CASE("a full ring takes no more, and an empty one gives none") {
  ring one;
  std::vector<std::byte> none(1);
  CHECK(one.read(none) == 0);
  CHECK(one.write(pattern(ring_bytes + 5)) == ring_bytes);
  CHECK_FALSE(one.writer.has_room());
  CHECK(one.write(pattern(1)) == 0);
  std::vector<std::byte> all(ring_bytes + 5);
  CHECK(one.read(all) == ring_bytes);
  CHECK_FALSE(one.reader.has_input());
}

TEST_CASE("only an end that sleeps is to be woken, once") {
  ring one;
  const auto write = [&](std::size_t size) {
    const auto bytes = pattern(size);
    const std::array<asio::const_buffer, 1> buffers{asio::buffer(bytes)};
    return one.writer.write(buffers)->wakes_other;
  };
  const auto read = [&](std::size_t size) {
    std::vector<std::byte> bytes(size);
    const std::array<asio::mutable_buffer, 1> buffers{asio::buffer(bytes)};
    return one.reader.read(buffers)->wakes_other;
  };
  CHECK_FALSE(write(1));
  CHECK_FALSE(one.reader.fall_asleep());  // there is something
  CHECK_FALSE(write(1));
  CHECK_FALSE(read(2));
  CHECK(one.reader.fall_asleep());
  CHECK(write(1));
  CHECK_FALSE(write(1));
  CHECK_FALSE(one.writer.fall_asleep());  // there is room
  CHECK_FALSE(write(ring_bytes));
  CHECK(one.writer.fall_asleep());
  CHECK_FALSE(read(100));  // too little room to wake for
  CHECK(read(ring_bytes / 2));
  CHECK_FALSE(read(100));
}

TEST_CASE("positions that are not of a ring are found out by both ends") {
  std::vector<std::byte> bytes(10);
  const std::array<asio::mutable_buffer, 1> in{asio::buffer(bytes)};
  const std::array<asio::const_buffer, 1> out{asio::buffer(bytes)};
  const auto reads = [&](std::uint64_t written) {
    ring one;
    (void)one.write(pattern(100));
    one.memory->written = written;
    return one.reader.read(in).has_value();
  };
  CHECK(reads(100));
  CHECK_FALSE(reads(ring_bytes + 1));
  CHECK_FALSE(reads(~std::uint64_t{0}));
  const auto writes = [&](std::uint64_t taken) {
    ring one;
    (void)one.write(pattern(100));
    one.memory->taken = taken;
    return one.writer.write(out).has_value();
  };
  CHECK(writes(100));
  CHECK_FALSE(writes(111));  // more than was ever written
  CHECK_FALSE(writes(std::uint64_t{0} - ring_bytes));
}

TEST_CASE("two threads that fall asleep whenever they can lose no wake-up") {
  ring one;
  constexpr std::size_t total = 40 * ring_bytes;
  std::atomic<int> reader_events = 0;
  std::atomic<int> writer_events = 0;
  std::thread writing([&] {
    std::mt19937 random(1);
    for (std::size_t sent = 0; sent < total;) {
      const auto bytes = pattern(std::min<std::size_t>(total - sent, 1 + random() % 70'000), sent);
      const std::array<asio::const_buffer, 1> out{asio::buffer(bytes)};
      const ring_result done = one.writer.write(out).value();
      sent += done.bytes;
      if (done.wakes_other) {
        ++reader_events;
        reader_events.notify_one();
      }
      if (done.bytes == bytes.size() || !one.writer.fall_asleep()) continue;
      while (writer_events == 0) writer_events.wait(0);
      --writer_events;
    }
  });
  std::size_t taken = 0;
  bool same = true;
  std::vector<std::byte> bytes(100'000);
  while (taken < total) {
    const std::array<asio::mutable_buffer, 1> in{asio::buffer(bytes)};
    const ring_result done = one.reader.read(in).value();
    const auto expected = pattern(done.bytes, taken);
    same = same && std::equal(expected.begin(), expected.end(), bytes.begin());
    taken += done.bytes;
    if (done.wakes_other) {
      ++writer_events;
      writer_events.notify_one();
    }
    if (done.bytes != 0 || !one.reader.fall_asleep()) continue;
    while (reader_events == 0) reader_events.wait(0);
    --reader_events;
  }
  writing.join();
  CHECK(same);
}
