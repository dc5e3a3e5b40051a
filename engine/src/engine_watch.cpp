// SPDX-License-Identifier: Apache-2.0
// The spinning mode: links over shared memory are watched for a while before they go to sleep.
#include "engine_core.hpp"

#include <boost/asio/post.hpp>

#include <algorithm>

namespace weft::detail {
namespace {

using clock = std::chrono::steady_clock;

// As long as messages keep coming nothing sleeps; what else the executor has gets its turn after so long.
constexpr std::chrono::microseconds longest_watch{500};
// A shorter watch is none: it takes as long to go to sleep.
constexpr std::chrono::nanoseconds shortest_watch{1'000};

void pause_briefly() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

}  // namespace

// Within a turn. A link that has been asleep says by that how long it would have had to be watched.
bool engine_core::watches(message_link& link) {
  if (options_.spin.count() == 0 || life_ == life::ended) return false;
  if (watched_.empty() && !watching_ && clock::now() - asleep_since_ < options_.spin) watch_for_ = options_.spin;
  if (watch_for_ < shortest_watch) {
    asleep_since_ = clock::now();
    return false;
  }
  if (std::ranges::find(watched_, &link, &std::shared_ptr<message_link>::get) == watched_.end())
    watched_.push_back(link.shared_from_this());
  return true;
}

// Not under the lock. One thread at a time: what others begin to watch meanwhile is watched by it.
void engine_core::watch_links() {
  if (options_.spin.count() == 0) return;  // without the lock: this follows every turn
  {
    const std::lock_guard lock(mutex_);
    if (watching_ || watched_.empty()) return;
    watching_ = true;
  }
  keep_watching();
}

void engine_core::keep_watching() {
  const auto began = clock::now();
  auto last_news = began;
  for (;;) {
    const auto now = clock::now();
    if (look_at_links()) {
      last_news = now;
    } else if (now - last_news >= watch_for_) {
      if (let_links_sleep()) return;
    } else {
      pause_briefly();
    }
    if (now - began >= longest_watch)
      return boost::asio::post(executor_, [self = shared_from_this()] { self->keep_watching(); });
  }
}

bool engine_core::look_at_links() {
  mutex_.lock();
  bool any = false;
  for (std::size_t i = 0; i < watched_.size(); ++i) {  // by index: what it does may add others
    const std::shared_ptr<message_link> link = watched_[i];
    if (!link->has_news()) continue;
    any = true;
    link->look();
  }
  if (!any) {
    mutex_.unlock();
    return false;
  }
  end_turn();
  return true;
}

// False where there was news at the last moment. The time to watch is halved, until a link that sleeps is woken so soon
// that watching it would have paid.
bool engine_core::let_links_sleep() {
  const std::lock_guard lock(mutex_);
  if (std::ranges::any_of(watched_, [](const auto& link) { return link->has_news(); })) return false;
  watch_for_ /= 2;
  asleep_since_ = clock::now();
  watching_ = false;
  for (const auto& link : watched_) link->sleep();
  watched_.clear();
  return true;
}

}  // namespace weft::detail
