// SPDX-License-Identifier: Apache-2.0
#include "link/shared_memory.hpp"

#include "link/rehome.hpp"

#include <weft/engine/error.hpp>

#include <boost/asio/error.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/system_error.hpp>

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <new>

namespace weft::detail {

namespace asio = boost::asio;

struct ring_pair {
  ring_memory first;
  ring_memory second;
};

namespace {

// What the two ends say to each other, a byte each. The first brings the memory and the two events along.
constexpr char rings_offered = 'R';
constexpr char rings_taken = 'T';
constexpr char no_thanks = 'N';
constexpr std::size_t descriptors = 3;
// Memory that can neither shrink nor grow: who reads beyond its end would die of it.
constexpr int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

using mapping = std::unique_ptr<ring_pair, unmap_rings>;

std::string last_problem(const char* what) {
  return std::string(what) + ": " + boost::system::error_code(errno, boost::system::system_category()).message();
}

mapping map_rings(int memory) {
  void* const at = ::mmap(nullptr, sizeof(ring_pair), PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
  return mapping(at == MAP_FAILED ? nullptr : static_cast<ring_pair*>(at));
}

/// What is handed to the other end.
struct offer {
  owned_descriptor memory;
  owned_descriptor wakes_offerer;
  owned_descriptor wakes_taker;
};

std::optional<offer> make_offer(std::string& problem) {
  offer made{owned_descriptor(::memfd_create("weft-link", MFD_CLOEXEC | MFD_ALLOW_SEALING)),
             owned_descriptor(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
             owned_descriptor(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK))};
  if (made.memory.get() < 0 || ::ftruncate(made.memory.get(), sizeof(ring_pair)) != 0 ||
      ::fcntl(made.memory.get(), F_ADD_SEALS, seals) != 0) {
    problem = last_problem("no shared memory");
    return std::nullopt;
  }
  if (made.wakes_offerer.get() < 0 || made.wakes_taker.get() < 0) {
    problem = last_problem("no eventfd");
    return std::nullopt;
  }
  return made;
}

/// Room for the descriptors beside one byte.
struct ancillary {
  alignas(cmsghdr) std::array<char, CMSG_SPACE(descriptors * sizeof(int))> space{};
  char byte = 0;
  iovec data{&byte, 1};
  msghdr message{};

  ancillary() {
    message.msg_iov = &data;
    message.msg_iovlen = 1;
    message.msg_control = space.data();
    message.msg_controllen = space.size();
  }
};

bool send_offer(stream_socket& socket, const offer& made) {
  ancillary carried;
  carried.byte = rings_offered;
  cmsghdr* const head = CMSG_FIRSTHDR(&carried.message);
  head->cmsg_level = SOL_SOCKET;
  head->cmsg_type = SCM_RIGHTS;
  head->cmsg_len = CMSG_LEN(descriptors * sizeof(int));
  const std::array<int, descriptors> numbers{made.memory.get(), made.wakes_offerer.get(), made.wakes_taker.get()};
  std::memcpy(CMSG_DATA(head), numbers.data(), sizeof numbers);
  return ::sendmsg(socket.native_handle(), &carried.message, MSG_NOSIGNAL) == 1;
}

/// The byte that has come, and what came with it.
std::pair<char, std::optional<offer>> receive_offer(stream_socket& socket) {
  ancillary carried;
  if (::recvmsg(socket.native_handle(), &carried.message, MSG_CMSG_CLOEXEC) != 1)
    throw boost::system::system_error(asio::error::eof);
  std::array<owned_descriptor, descriptors> got;
  std::size_t count = 0;
  for (cmsghdr* head = CMSG_FIRSTHDR(&carried.message); head != nullptr; head = CMSG_NXTHDR(&carried.message, head)) {
    if (head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t sent = (head->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < sent && count < descriptors; ++i) {
      int number = -1;
      std::memcpy(&number, CMSG_DATA(head) + i * sizeof(int), sizeof number);
      got[count++] = owned_descriptor(number);
    }
  }
  if (count != descriptors) return {carried.byte, std::nullopt};
  return {carried.byte, offer{std::move(got[0]), std::move(got[1]), std::move(got[2])}};
}

/// Whether the memory is what an honest end offers; the two events need no check, for at worst they wake nobody.
bool is_sound(const offer& made) {
  struct stat about {};
  return ::fstat(made.memory.get(), &about) == 0 && about.st_size == sizeof(ring_pair) &&
         (::fcntl(made.memory.get(), F_GET_SEALS) & seals) == seals &&
         ::fcntl(made.wakes_offerer.get(), F_SETFL, O_NONBLOCK) == 0 &&
         ::fcntl(made.wakes_taker.get(), F_SETFL, O_NONBLOCK) == 0;
}

bool is_unix(const stream_socket& socket) {
  boost::system::error_code ignored;
  return socket.local_endpoint(ignored).protocol().family() == AF_UNIX;
}

void say(stream_socket& socket, char word) {
  // A byte after a few others always fits in the kernel's buffer.
  const std::array<asio::const_buffer, 1> one{asio::buffer(&word, 1)};
  if (write_now(socket, one).bytes != 1) throw boost::system::system_error(asio::error::broken_pipe);
}

}  // namespace

owned_descriptor::~owned_descriptor() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void unmap_rings::operator()(ring_pair* rings) const noexcept {
  ::munmap(rings, sizeof(ring_pair));
}

shared_rings::shared_rings(std::unique_ptr<ring_pair, unmap_rings> memory, bool first, owned_descriptor wakes_me,
                           owned_descriptor wakes_other, const asio::any_io_executor& executor)
    : memory_(std::move(memory)),
      writer_(first ? memory_->first : memory_->second),
      reader_(first ? memory_->second : memory_->first),
      wake_up_(executor, wakes_me.release()),
      wakes_other_(std::move(wakes_other)) {}

rings_result shared_rings::read(std::span<const asio::mutable_buffer> buffers, bool other_has_ended) noexcept {
  const auto read = reader_.read(buffers);
  if (!read) return {{0, errc::malformed_message, false}, false};
  if (read->wakes_other) wake_other();
  if (read->bytes == 0 && other_has_ended) return {{0, asio::error::eof, false}, false};
  return {{read->bytes, {}, read->bytes == 0}, read->wakes_other};
}

rings_result shared_rings::write(std::span<const asio::const_buffer> buffers, bool other_has_ended) noexcept {
  if (other_has_ended) return {{0, asio::error::broken_pipe, false}, false};
  const auto written = writer_.write(buffers);
  if (!written) return {{0, asio::error::broken_pipe, false}, false};
  if (written->wakes_other) wake_other();
  return {{written->bytes, {}, written->bytes == 0}, written->wakes_other};
}

void shared_rings::wake_other() noexcept {
  const std::uint64_t once = 1;
  // It fails only where so many wake-ups wait that one more makes no difference.
  [[maybe_unused]] const auto written = ::write(wakes_other_.get(), &once, sizeof once);
}

asio::awaitable<std::optional<shared_rings>> offer_rings(timed_stream& stream, bool wanted,
                                                         asio::any_io_executor executor, std::string& why_not) {
  std::optional<offer> made;
  if (wanted) made = make_offer(why_not);
  mapping rings = made ? map_rings(made->memory.get()) : nullptr;
  if (made && !rings) why_not = last_problem("shared memory cannot be mapped");
  if (!rings || !send_offer(stream.socket(), *made)) {
    say(stream.socket(), no_thanks);
    co_return std::optional<shared_rings>();
  }
  std::array<std::byte, 1> answer{};
  co_await stream.read(answer);
  if (std::to_integer<char>(answer.front()) != rings_taken) {
    why_not = "the other end does not take shared memory";
    co_return std::optional<shared_rings>();
  }
  co_return std::optional<shared_rings>(std::in_place, std::move(rings), true, std::move(made->wakes_offerer),
                                        std::move(made->wakes_taker), executor);
}

asio::awaitable<std::optional<shared_rings>> take_rings(timed_stream& stream, bool wanted,
                                                        asio::any_io_executor executor, std::string& why_not) {
  do {
    co_await stream.socket().async_wait(stream_socket::wait_read, asio::use_awaitable);
  } while (!is_readable(stream.socket()));
  auto [word, made] = receive_offer(stream.socket());
  if (word == no_thanks) co_return std::optional<shared_rings>();
  if (word != rings_offered) throw boost::system::system_error(asio::error::invalid_argument);
  mapping rings = wanted && made && is_sound(*made) ? map_rings(made->memory.get()) : nullptr;
  if (!rings) {
    if (wanted) why_not = "what the other end offers as shared memory cannot be used";
    say(stream.socket(), no_thanks);
    co_return std::optional<shared_rings>();
  }
  say(stream.socket(), rings_taken);
  co_return std::optional<shared_rings>(std::in_place, std::move(rings), false, std::move(made->wakes_taker),
                                        std::move(made->wakes_offerer), executor);
}

asio::awaitable<shared_connection> share_memory(stream_socket connected, ring_exchange exchange, bool wanted,
                                                asio::any_io_executor executor,
                                                std::chrono::steady_clock::duration timeout) {
  std::optional<shared_rings> rings;
  std::string why_not;
  if (is_unix(connected)) {
    const auto deadline = std::chrono::steady_clock::now() + timeout;
    timed_stream stream(std::move(connected), co_await asio::this_coro::executor, deadline);
    rings = co_await exchange(stream, wanted, executor, why_not);
    connected = stream.release();
  }
  co_return shared_connection{rehome(std::move(connected), executor), std::move(rings), std::move(why_not)};
}

}  // namespace weft::detail
