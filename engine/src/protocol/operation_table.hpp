// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "protocol/messages.hpp"
#include "protocol/slot_pool.hpp"

#include <weft/engine/error.hpp>
#include <weft/engine/operation_details.hpp>

#include <cstdint>
#include <optional>
#include <vector>

namespace weft::protocol {

enum class operation_state : std::uint8_t {
  free,
  allocated,    ///< named, not started
  unmatched,    ///< announced, or posted
  withdrawing,  ///< a send that asks its receiver to forget it
  paired,       ///< a receive with a message: a buffer is not ready, or its user has to decide
  matched,      ///< carried out by the link or through the log, to its end
};

/// One operation of this rank, as the protocol sees it.
struct operation {
  std::uint32_t generation = 1;
  operation_state state = operation_state::free;
  weft::route route = weft::route::automatic;
  bool published = false;           ///< the launch thread may carry it out
  bool carried = false;             ///< a send whose bytes rode in the announcement
  bool ready = true;                ///< its buffer may be read, or written
  bool examines = false;            ///< a receive whose user sees what has matched before anything is carried
  bool is_held = false;             ///< a receive that goes on once its user has decided
  bool has_head = false;            ///< the head of its message has arrived; of a send: was given to the link
  bool has_body = false;            ///< a send: the rest was given to the link, too
  std::uint8_t streams = 0;         ///< of a send, parts that the link has not taken whole
  bool any_source = false;          ///< a receive posted with this wildcard
  bool any_tag = false;             ///< and with that one
  bool sender_leaves = false;       ///< of a receive: the sender of its message wants it back
  bool asks_back = false;           ///< of a receive: the sequencer was asked to take its match back
  errc leaving{};                   ///< why this end wants an early end, if it does
  std::uint32_t message = no_slot;  ///< that a receive has, as long as it may have to give it back
  std::uint64_t group = 0;          ///< within which it was started
  std::uint64_t remaining = 0;      ///< bytes that a receive still expects on the link
  std::optional<boost::system::error_code> verdict;  ///< how a send ends once the link has let go of its memory
  operation_details details;
};

/// Slots for operations, used again after their end; a generation in the name tells a late message for an earlier
/// operation from one for the present.
class operation_table {
 public:
  [[nodiscard]] static std::uint32_t slot_of(operation_id id) noexcept { return static_cast<std::uint32_t>(id); }

  operation_id allocate() {
    if (free_.empty()) {
      free_.push_back(static_cast<std::uint32_t>(slots_.size()));
      slots_.emplace_back();
    }
    const std::uint32_t slot = free_.back();
    free_.pop_back();
    slots_[slot].state = operation_state::allocated;
    return name(slot);
  }

  void release(operation_id id) {
    operation& op = slots_[slot_of(id)];
    const std::uint32_t next = op.generation + 1 == 0 ? 1 : op.generation + 1;
    op = operation{};
    op.generation = next;
    free_.push_back(slot_of(id));
  }

  /// The operation of that name, or null where it has ended or never was.
  [[nodiscard]] operation* find(operation_id id) noexcept {
    const std::uint32_t slot = slot_of(id);
    if (slot >= slots_.size() || slots_[slot].state == operation_state::free || name(slot) != id) return nullptr;
    return &slots_[slot];
  }
  [[nodiscard]] const operation* find(operation_id id) const noexcept {
    return const_cast<operation_table*>(this)->find(id);
  }

  /// The operation in a slot that is in use.
  [[nodiscard]] operation_id name_of(std::uint32_t slot) const noexcept { return name(slot); }

  /// Names of all operations that `keep` holds for, oldest slot first. For the rare events that concern many.
  template <class Predicate>
  [[nodiscard]] std::vector<operation_id> select(Predicate keep) const {
    std::vector<operation_id> found;
    for (std::uint32_t slot = 0; slot < slots_.size(); ++slot)
      if (slots_[slot].state != operation_state::free && keep(slots_[slot])) found.push_back(name(slot));
    return found;
  }

 private:
  [[nodiscard]] operation_id name(std::uint32_t slot) const noexcept {
    return operation_id{slots_[slot].generation} << 32 | slot;
  }

  std::vector<operation> slots_;
  std::vector<std::uint32_t> free_;
};

}  // namespace weft::protocol
