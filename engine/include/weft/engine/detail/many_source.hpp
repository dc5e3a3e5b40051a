// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <weft/engine/batch.hpp>
#include <weft/engine/detail/object_sources.hpp>

#include <memory>
#include <tuple>
#include <utility>
#include <vector>

namespace weft::detail {

/// Sends objects to several ranks: they are serialized once, and all sends share the bytes.
template <class Format, class... Stored>
class send_to_many_source : public operation_source_base {
 public:
  using result_type = batch_result;

  send_to_many_source(place within, destinations where, Stored... objects)
      : operation_source_base(std::move(within)), where_(where), objects_(std::forward<Stored>(objects)...) {}

  void start(waiter& who) {
    auto shared = std::make_shared<shared_objects>(std::move(objects_));
    try {
      std::apply([&](const auto&... object) { serialize<Format>(shared->bytes, *place_.core, {}, object...); },
                 shared->objects);
    } catch (const std::exception& problem) {
      return refuse_objects(*place_.core, who, where_.like, problem);
    }
    state_ = std::make_unique<batch_state>(place_, sends_of(std::move(shared)));
    state_->start(who);
  }
  void cancel(waiter& who, boost::asio::cancellation_type kinds) noexcept {
    state_ ? state_->cancel(kinds) : operation_source_base::cancel(who, kinds);
  }
  void abandon(waiter& who) noexcept { state_ ? state_->abandon() : operation_source_base::abandon(who); }
  [[nodiscard]] batch_result finish(boost::system::error_code& code, outcome&& ended) {
    if (state_) return state_->take_result(code);
    return {{{code, {}, std::move(ended.details)}}};
  }

 private:
  struct shared_objects final : owned_memory {
    explicit shared_objects(std::tuple<Stored...>&& from) : objects(std::move(from)) {}
    std::tuple<Stored...> objects;
    serialized_objects bytes;
  };

  std::vector<batch_item> sends_of(std::shared_ptr<shared_objects> shared) const {
    const serialized_objects& bytes = shared->bytes;
    batch_item one{.operation = operation_kind::send, .views = {}, .to = where_.like, .from = {}};
    std::vector<const_buffer_view> pieces{{bytes.frame.data(), bytes.frame.size()}};
    pieces.insert(pieces.end(), bytes.segments.begin(), bytes.segments.end());
    one.views = view_list(std::move(pieces));
    one.kind = payload_kind::objects;
    one.fingerprint = serializers::type_fingerprint<std::remove_cvref_t<Stored>...>();
    one.head = bytes.head();
    one.borrows = one.head != 0 && (std::is_reference_v<Stored> || ...);
    one.owner = std::move(shared);
    std::vector<batch_item> all(where_.ranks.size(), one);
    for (std::size_t i = 0; i < all.size(); ++i) all[i].to.rank = where_.ranks[i];
    return all;
  }

  destinations where_;
  std::tuple<Stored...> objects_;
  std::unique_ptr<batch_state> state_;
};

}  // namespace weft::detail
