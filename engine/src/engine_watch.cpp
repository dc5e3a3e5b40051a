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

void pause_briefly() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

}  // namespace

// Within a turn.
bool engine_core::watches(message_link& link) {
  if (options_.spin.count() == 0 || life_ == life::ended) return false;
  if (watched_.empty() && !watching_) attention_.on_sleep(clock::now() - asleep_since_, link.woke_other());
  if (!attention_.watches()) {
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
  last_news_ = clock::now();
  keep_watching();
}

void engine_core::keep_watching() {
  const auto began = clock::now();
  for (bool had_news = false;;) {
    const auto now = clock::now();
    if (std::exchange(had_news, false)) last_news_ = now;  // what came of it may have taken its time
    switch (look_at_links(now - last_news_)) {
      case sight::news:
        had_news = true;
        break;
      case sight::nothing:
        pause_briefly();
        break;
      case sight::asleep:
        return;
    }
    if (now - began < longest_watch) continue;
    if (had_news) last_news_ = now;
    return boost::asio::post(executor_, [self = shared_from_this()] { self->keep_watching(); });
  }
}

engine_core::sight engine_core::look_at_links(std::chrono::nanoseconds silence) {
  mutex_.lock();
  bool any = false;
  for (std::size_t i = 0; i < watched_.size(); ++i) {  // by index: what it does may add others
    const std::shared_ptr<message_link> link = watched_[i];
    if (!link->has_news()) continue;
    any = true;
    link->look();
  }
  if (any) {
    attention_.on_news(silence);
    end_turn();
    return sight::news;
  }
  const std::lock_guard lock(mutex_, std::adopt_lock);
  if (life_ != life::ended && silence < attention_.limit(std::ranges::any_of(watched_, &message_link::woke_other)))
    return sight::nothing;
  attention_.on_silence();
  asleep_since_ = clock::now();
  watching_ = false;
  for (const auto& link : watched_) link->sleep();
  watched_.clear();
  return sight::asleep;
}

}  // namespace weft::detail
