// SPDX-License-Identifier: Apache-2.0
#include <weft/engine/batch.hpp>

namespace weft::detail {

/// The waiter of one operation.
class batch_state::member final : public waiter {
 public:
  explicit member(batch_state& whole) : whole_(whole) {}

  void complete(boost::system::error_code code, outcome&& ended) noexcept override {
    entry.code = code;
    if (!code && ended.details.operation == operation_kind::receive) entry.envelope = envelope_of(ended.details);
    entry.details = std::move(ended.details);
    whole_.finish_one();
  }

  batch_entry entry;

 private:
  batch_state& whole_;
};

batch_state::batch_state(place within, std::vector<batch_item> items)
    : place_(std::move(within)), items_(std::move(items)) {}

batch_state::~batch_state() = default;

void batch_state::start(waiter& who) {
  who_ = &who;
  if (items_.empty()) return complete_soon(*place_.core, who, {}, {});
  std::vector<operation_request> requests(items_.size());
  members_.reserve(items_.size());
  for (std::size_t i = 0; i < items_.size(); ++i) {
    members_.push_back(std::make_unique<member>(*this));
    requests[i].operation = items_[i].operation;
    requests[i].group = place_.group;
    requests[i].to = items_[i].to;
    requests[i].from = items_[i].from;
    requests[i].pieces = items_[i].views.pieces();
    requests[i].kind = items_[i].kind;
    requests[i].fingerprint = items_[i].fingerprint;
    requests[i].head = items_[i].head;
    requests[i].borrows = items_[i].borrows;
    requests[i].owner = items_[i].owner;
    requests[i].waiter = members_.back().get();
  }
  unfinished_.store(items_.size(), std::memory_order_relaxed);  // the start below publishes it
  detail::start(*place_.core, requests);
}

void batch_state::cancel(boost::asio::cancellation_type kinds) noexcept {
  for (const auto& one : members_) detail::cancel(*place_.core, *one, kinds);
}

void batch_state::abandon() noexcept {
  if (members_.empty()) return detail::abandon(*place_.core, *who_);
  for (const auto& one : members_) detail::abandon(*place_.core, *one);
}

void batch_state::finish_one() {
  // acq_rel: the last one to finish sees what all others wrote to their entries.
  if (unfinished_.fetch_sub(1, std::memory_order_acq_rel) == 1) who_->complete({}, {});
}

batch_result batch_state::take_result(boost::system::error_code& code) {
  batch_result result;
  result.entries.reserve(members_.size());
  for (const auto& one : members_) {
    if (!code && one->entry.code) code = one->entry.code;
    result.entries.push_back(std::move(one->entry));
  }
  return result;
}

}  // namespace weft::detail
