// SPDX-License-Identifier: Apache-2.0
#include "output_stream.hpp"

#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <array>
#include <cerrno>

namespace weft::run {
namespace {

// What a pipe holds by default on Linux.
constexpr std::size_t read_bytes = std::size_t{64} << 10;

bool can_retry_write(int target) {
  if (errno == EINTR) return true;
  if (errno != EAGAIN) return false;
  // Whoever shares the descriptor has made it non-blocking.
  pollfd ready{.fd = target, .events = POLLOUT, .revents = 0};
  poll(&ready, 1, -1);
  return true;
}

}  // namespace

void printer::print(std::string_view text) noexcept {
  while (!text.empty() && failure_ == 0) {
    const ssize_t written = write(target_, text.data(), text.size());
    if (written >= 0) {
      text.remove_prefix(static_cast<std::size_t>(written));
    } else if (!can_retry_write(target_)) {
      failure_ = errno;
    }
  }
}

void output_stream::forward_some() {
  if (is_open()) read_some();
}

void output_stream::forward_available() {
  // Counted beforehand: a child of the rank may go on writing for as long as this reads.
  int available = 0;
  if (!is_open() || ioctl(source_.get(), FIONREAD, &available) != 0) return;
  for (auto left = static_cast<std::size_t>(available); left > 0 && is_open();) {
    const std::size_t got = read_some();
    left -= got < left ? got : left;
  }
}

void output_stream::finish() {
  source_.close();
  target_->print(lines_.finish());
}

std::size_t output_stream::read_some() {
  std::array<char, read_bytes> bytes;
  const ssize_t got = read(source_.get(), bytes.data(), bytes.size());
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return 0;
  if (got <= 0) {
    finish();
    return 0;
  }
  const auto size = static_cast<std::size_t>(got);
  target_->print(lines_.feed(std::string_view(bytes.data(), size)));
  return size;
}

}  // namespace weft::run
