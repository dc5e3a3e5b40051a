// SPDX-License-Identifier: Apache-2.0
// Links over shared memory: how two ends come to share it, what a hostile offer can do, and how such a link ends.
#include "link/message_link.hpp"
#include "link/shared_memory.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/local/connect_pair.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>

#include <doctest/doctest.h>

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstring>
#include <exception>
#include <functional>
#include <latch>
#include <string>
#include <thread>
#include <vector>

using namespace weft::detail;
namespace asio = boost::asio;

namespace {

using exchange = asio::awaitable<std::optional<shared_rings>> (*)(timed_stream&, bool, asio::any_io_executor,
                                                                  std::string&);

/// Two ends of a Unix socket, and what their exchange comes to.
struct ends {
  struct end {
    std::optional<timed_stream> stream;
    std::optional<shared_rings> rings;
    std::string why_not;
    std::exception_ptr problem;
  };

  ends() {
    asio::local::stream_protocol::socket a(context);
    asio::local::stream_protocol::socket b(context);
    asio::local::connect_pair(a, b);
    adopt(first, std::move(a));
    adopt(second, std::move(b));
  }

  void adopt(end& one, asio::local::stream_protocol::socket socket) {
    stream_socket moved(context, asio::generic::stream_protocol(AF_UNIX, 0), socket.release());
    moved.non_blocking(true);
    one.stream.emplace(std::move(moved), context.get_executor(),
                       std::chrono::steady_clock::now() + std::chrono::seconds(20));
  }
  void begin(end& one, exchange how, bool wanted) {
    asio::co_spawn(context, run(one, how, wanted), [&one](const std::exception_ptr& thrown) { one.problem = thrown; });
  }
  asio::awaitable<void> run(end& one, exchange how, bool wanted) {
    one.rings = co_await how(*one.stream, wanted, context.get_executor(), one.why_not);
  }
  /// Runs until nothing is left to do but to wait for time to pass.
  void settle() {
    context.restart();
    while (context.poll() != 0) {}
  }

  asio::io_context context;
  end first;
  end second;
};

std::string text_through(shared_rings& from, shared_rings& to, const std::string& text) {
  const std::array<asio::const_buffer, 1> out{asio::buffer(text)};
  CHECK(from.writer().write(out)->bytes == text.size());
  std::string got(100, ' ');
  const std::array<asio::mutable_buffer, 1> in{asio::buffer(got)};
  got.resize(to.reader().read(in)->bytes);
  return got;
}

/// What an offerer hands over, and a view of the memory for it to scribble on.
struct raw_offer {
  int memory = ::memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  int one = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  int other = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  ring_memory* rings = nullptr;

  raw_offer(std::size_t size, bool sealed) {
    REQUIRE(::ftruncate(memory, static_cast<off_t>(size)) == 0);
    if (sealed) REQUIRE(::fcntl(memory, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0);
    void* const at = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
    REQUIRE(at != MAP_FAILED);
    rings = static_cast<ring_memory*>(at);
  }

  void send(stream_socket& socket, int count) const {
    char byte = 'R';
    iovec data{&byte, 1};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(3 * sizeof(int))> space{};
    msghdr message{};
    message.msg_iov = &data;
    message.msg_iovlen = 1;
    message.msg_control = space.data();
    message.msg_controllen = CMSG_SPACE(static_cast<std::size_t>(count) * sizeof(int));
    cmsghdr* const head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(static_cast<std::size_t>(count) * sizeof(int));
    const std::array<int, 3> numbers{memory, one, other};
    std::memcpy(CMSG_DATA(head), numbers.data(), static_cast<std::size_t>(count) * sizeof(int));
    REQUIRE(::sendmsg(socket.native_handle(), &message, 0) == 1);
  }
};

constexpr std::size_t honest_size = 2 * sizeof(ring_memory);

/// Counts what a link brings.
struct counting_owner final : link_owner {
  void begin_turn() override { before_turn(); }
  void end_turn() override {}
  bool on_message(message_link&, std::uint8_t type, std::span<const std::byte>) override {
    types.push_back(type);
    return true;
  }
  void on_link_closed(message_link&, boost::system::error_code code) override { closed = code; }

  std::vector<int> types;
  boost::system::error_code closed;
  std::function<void()> before_turn = [] {};
};

/// Takes the byte for which a socket has been found readable.
void take_byte(int socket) {
  char byte = 0;
  CHECK(::recv(socket, &byte, 1, MSG_DONTWAIT) == 1);
}

}  // namespace

TEST_CASE("two ends come to share rings, each writing where the other reads") {
  ends both;
  both.begin(both.first, &offer_rings, true);
  both.begin(both.second, &take_rings, true);
  both.settle();
  REQUIRE(both.first.rings);
  REQUIRE(both.second.rings);
  CHECK(text_through(*both.first.rings, *both.second.rings, "there") == "there");
  CHECK(text_through(*both.second.rings, *both.first.rings, "and back") == "and back");
}

TEST_CASE("either end may do without, and the other goes on with the socket") {
  for (const bool offered : {false, true}) {
    ends both;
    both.begin(both.first, &offer_rings, offered);
    both.begin(both.second, &take_rings, !offered);
    both.settle();
    CHECK_FALSE(both.first.rings);
    CHECK_FALSE(both.second.rings);
    CHECK(both.first.why_not.empty() == !offered);
    CHECK(both.second.why_not.empty());
    CHECK(both.first.problem == nullptr);
    CHECK(both.second.problem == nullptr);
    const std::array<char, 2> word{'o', 'k'};
    CHECK(both.first.stream->socket().send(asio::buffer(word)) == 2);
    std::array<char, 2> got{};
    CHECK(both.second.stream->socket().receive(asio::buffer(got)) == 2);
  }
}

TEST_CASE("memory of another size, that can shrink, or that does not come is not taken") {
  const auto taken = [](const raw_offer& offered, int descriptors) {
    ends both;
    both.begin(both.second, &take_rings, true);
    offered.send(both.first.stream->socket(), descriptors);
    both.settle();
    CHECK(both.second.problem == nullptr);
    CHECK(both.second.why_not.empty() == both.second.rings.has_value());
    return both.second.rings.has_value();
  };
  CHECK(taken(raw_offer(honest_size, true), 3));
  CHECK_FALSE(taken(raw_offer(honest_size, false), 3));
  CHECK_FALSE(taken(raw_offer(honest_size - 4096, true), 3));
  CHECK_FALSE(taken(raw_offer(honest_size, true), 2));
  CHECK_FALSE(taken(raw_offer(honest_size, true), 1));
}

TEST_CASE("an end that says something else, or goes, is no end of a link") {
  ends odd;
  odd.begin(odd.second, &take_rings, true);
  CHECK(odd.first.stream->socket().send(asio::buffer("?", 1)) == 1);
  odd.settle();
  CHECK(odd.second.problem != nullptr);
  ends gone;
  gone.begin(gone.first, &offer_rings, true);
  gone.second.stream.reset();
  gone.settle();
  CHECK(gone.first.problem != nullptr);
}

TEST_CASE("what was said before the end of a link is heard, and then its end") {
  ends both;
  both.begin(both.first, &offer_rings, true);
  both.begin(both.second, &take_rings, true);
  both.settle();
  counting_owner owner;
  const auto link =
      std::make_shared<message_link>(both.first.stream->release(), 1, owner, nullptr, std::move(both.first.rings));
  link->start();
  both.settle();
  std::vector<std::byte> words;
  for (std::uint8_t type = 1; type <= 3; ++type) append_message(words, type, {});
  const std::array<asio::const_buffer, 1> out{asio::buffer(words)};
  const auto written = both.second.rings->writer().write(out);
  CHECK(written->wakes_other);
  SUBCASE("where it was woken") {
    both.second.rings->wake_other();
    both.settle();
    CHECK(owner.types == std::vector{1, 2, 3});
    CHECK_FALSE(owner.closed);
  }
  both.second.rings.reset();
  both.second.stream.reset();
  both.settle();
  CHECK(owner.types == std::vector{1, 2, 3});
  CHECK(owner.closed == asio::error::eof);
}

// Where several threads run an io_context, Asio can report as new what another of them has read meanwhile.
TEST_CASE("a socket that was readable when it was looked at, and is not any more, has not ended") {
  ends both;
  const std::array<char, 1> word{'?'};
  SUBCASE("under a link") {
    both.begin(both.first, &offer_rings, true);
    both.begin(both.second, &take_rings, true);
    both.settle();
    counting_owner owner;
    stream_socket socket = both.first.stream->release();
    const int same = ::dup(socket.native_handle());
    const auto link = std::make_shared<message_link>(std::move(socket), 1, owner, nullptr, std::move(both.first.rings));
    link->start();
    owner.before_turn = [&] {
      take_byte(same);
      owner.before_turn = [] {};
    };
    CHECK(both.second.stream->socket().send(asio::buffer(word)) == 1);
    both.settle();
    CHECK_FALSE(owner.closed);
    ::close(same);
    both.second.stream.reset();
    both.settle();
    CHECK(owner.closed == asio::error::eof);
  }
  SUBCASE("before there is one") {
    // The handler has to wait for its strand while the byte goes.
    const auto strand = asio::make_strand(both.context);
    asio::co_spawn(strand, both.run(both.second, &take_rings, true),
                   [&](const std::exception_ptr& thrown) { both.second.problem = thrown; });
    both.settle();
    std::latch held(1);
    std::latch gone(1);
    asio::post(strand, [&] {
      held.count_down();
      gone.wait();
    });
    std::thread holder([&] { both.context.run_one(); });
    held.wait();
    CHECK(both.first.stream->socket().send(asio::buffer(word)) == 1);
    while (both.context.poll() != 0) {}
    take_byte(both.second.stream->socket().native_handle());
    gone.count_down();
    holder.join();
    both.settle();
    CHECK(both.second.problem == nullptr);
    both.begin(both.first, &offer_rings, true);
    both.settle();
    CHECK(both.second.rings);
  }
}

TEST_CASE("a ring that is scribbled on ends its link") {
  ends both;
  const raw_offer offered(honest_size, true);
  both.begin(both.second, &take_rings, true);
  offered.send(both.first.stream->socket(), 3);
  both.settle();
  REQUIRE(both.second.rings);
  counting_owner owner;
  const auto link =
      std::make_shared<message_link>(both.second.stream->release(), 0, owner, nullptr, std::move(both.second.rings));
  link->start();
  both.settle();
  SUBCASE("by impossible positions") {
    offered.rings[0].written = ring_bytes + 1;
  }
  SUBCASE("by bytes that are no message") {
    std::memset(offered.rings[0].bytes, 0xff, 100);
    offered.rings[0].written = 100;
  }
  const std::uint64_t once = 1;
  REQUIRE(::write(offered.other, &once, sizeof once) == sizeof once);
  both.settle();
  CHECK(owner.closed);
  CHECK_FALSE(link->is_open());
}
