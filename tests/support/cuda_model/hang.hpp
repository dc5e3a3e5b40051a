// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>

namespace cuda_model {

struct blocked_call;
struct communicator;
struct event_record;
struct kernel;
struct state;
struct stream;

/// What can still happen if all goes well: calls that no blocked thread stands in the way of are made, kernels that
/// can meet do. What is not possible even so never happens. Grows to a fixed point, so what waits in a ring stays out.
class outlook {
 public:
  explicit outlook(state& world);

  [[nodiscard]] bool finishes(const kernel& one) const { return finishing_.contains(&one); }
  [[nodiscard]] bool passes(const event_record& one) const;
  [[nodiscard]] bool drains(const stream& one) const;
  [[nodiscard]] bool drains(int device) const;
  /// Whether the thread that works for the device can make another call.
  [[nodiscard]] bool can_call(int device) const;
  /// Whether all kernels before it on its device and communicator let the group onto its streams.
  [[nodiscard]] bool launches(const kernel& one) const;

  /// The first thing that cannot happen.
  [[nodiscard]] std::optional<std::string> stuck() const;

 private:
  bool grow();
  bool grow_streams();
  [[nodiscard]] bool passes(const stream& where, std::size_t index);
  [[nodiscard]] bool starts(const kernel& one) const;
  [[nodiscard]] bool has_room(const kernel& one) const;
  [[nodiscard]] bool meets_partners(const kernel& one) const;

  state& world_;
  std::set<const kernel*> finishing_;
  std::set<const event_record*> passing_;
  std::set<const blocked_call*> ending_;
  std::map<const stream*, std::size_t> passed_;  ///< items of each stream, from the front
};

/// Whether the group needs a connection that its communicator has not made yet.
[[nodiscard]] bool has_first_use(const communicator& one, const kernel& group);

}  // namespace cuda_model
