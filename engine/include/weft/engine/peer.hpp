// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <weft/engine/device_work.hpp>
#include <weft/engine/route.hpp>

#include <chrono>
#include <concepts>
#include <cstdint>
#include <span>

namespace weft {

/// The type of `any_source`.
struct any_source_t {};
/// The type of `any_tag`.
struct any_tag_t {};

/// Receives from whichever rank sent first.
inline constexpr any_source_t any_source{};
/// Receives whichever tag was sent first.
inline constexpr any_tag_t any_tag{};

/// What a send waits for.
enum class completion_point : std::uint8_t {
  taken,    ///< the bytes have left the buffer: for the engine (inline), the link (host), the receiver (device, pair)
  matched,  ///< as `taken`, and the receiver has matched the message: a mismatch fails both ends
};

/// No deadline.
inline constexpr std::chrono::nanoseconds no_limit = std::chrono::nanoseconds::max();

/// Completion once the receive is matched, for `destination::until`.
inline constexpr completion_point matched = completion_point::matched;

/// Where a message goes and how. Made by `to(rank, tag)`; a plain value, never mistaken for an object to send.
struct destination {
  int rank = -1;                                     ///< the receiver
  std::uint64_t tag = 0;                             ///< what the receive names; all 64 bits are yours
  weft::route route = weft::route::automatic;        ///< see `via`
  completion_point point = completion_point::taken;  ///< see `until`
  std::chrono::nanoseconds limit = no_limit;         ///< see `within`
  device_work work{};                                ///< see `after`

  /// The same with another route.
  [[nodiscard]] constexpr destination via(weft::route which) const noexcept {
    destination changed = *this;
    changed.route = which;
    return changed;
  }

  /// The same, completing at another point.
  [[nodiscard]] constexpr destination until(completion_point when) const noexcept {
    destination changed = *this;
    changed.point = when;
    return changed;
  }

  /// The same with a deadline, counted from the start of the operation: past it the operation is cancelled with
  /// `errc::timed_out`.
  [[nodiscard]] constexpr destination within(std::chrono::nanoseconds time) const noexcept {
    destination changed = *this;
    changed.limit = time;
    return changed;
  }

  /// The same, with a buffer that may not be read before a GPU has done its work: all that a cudaStream_t of the
  /// engine's device has when the operation starts, or what a cudaEvent_t was recorded behind. The operation
  /// takes its place in the order at once; nothing waits on the device for it. An error of the stream's ends it with
  /// `errc::device_failed`, and without a GPU it fails with `errc::device_unavailable`. The event must have been
  /// recorded, and must stay as it is until the operation completes. Not for objects, which are copied when their
  /// operation starts: await the stream before.
  template <class Work>
  requires std::same_as<Work, CUstream_st> || std::same_as<Work, CUevent_st>
  [[nodiscard]] constexpr destination after(Work* which) const noexcept {
    destination changed = *this;
    changed.work = device_work::of(which);
    return changed;
  }
};

/// Several ranks that one message goes to. Made by `to(ranks, tag)`; the ranks must stay where they are until the
/// operation is started.
struct destinations {
  std::span<const int> ranks;  ///< the receivers
  destination like;            ///< what holds for each of them

  /// The same with another route.
  [[nodiscard]] constexpr destinations via(weft::route which) const noexcept { return {ranks, like.via(which)}; }
  /// The same, completing at another point.
  [[nodiscard]] constexpr destinations until(completion_point when) const noexcept { return {ranks, like.until(when)}; }
  /// The same with a deadline for each.
  [[nodiscard]] constexpr destinations within(std::chrono::nanoseconds time) const noexcept {
    return {ranks, like.within(time)};
  }
};

/// Where a message comes from. Made by `from(rank, tag)`, each of which may be a wildcard.
struct origin {
  int rank = -1;                              ///< the sender; meaningless with `any_rank`
  std::uint64_t tag = 0;                      ///< what the send named; meaningless with `every_tag`
  bool any_rank = false;                      ///< whether any rank's message fits
  bool every_tag = false;                     ///< whether any tag fits
  std::chrono::nanoseconds limit = no_limit;  ///< see `within`
  device_work work{};                         ///< see `after`

  /// The same with a deadline, counted from the start of the operation: past it the operation is cancelled with
  /// `errc::timed_out`.
  [[nodiscard]] constexpr origin within(std::chrono::nanoseconds time) const noexcept {
    origin changed = *this;
    changed.limit = time;
    return changed;
  }

  /// The same, with a buffer that may not be written to before a GPU has done its work: all that a cudaStream_t of the
  /// engine's device has when the operation starts, or what a cudaEvent_t was recorded behind. The operation
  /// takes its place in the order at once; nothing waits on the device for it. An error of the stream's ends it with
  /// `errc::device_failed`, and without a GPU it fails with `errc::device_unavailable`. The event must have been
  /// recorded, and must stay as it is until the operation completes. Not for objects, which are copied when their
  /// operation starts: await the stream before.
  template <class Work>
  requires std::same_as<Work, CUstream_st> || std::same_as<Work, CUevent_st>
  [[nodiscard]] constexpr origin after(Work* which) const noexcept {
    origin changed = *this;
    changed.work = device_work::of(which);
    return changed;
  }
};

/// To `rank`, under `tag`, by the automatic route and without a deadline.
[[nodiscard]] constexpr destination to(int rank, std::uint64_t tag) noexcept {
  return {.rank = rank, .tag = tag};
}

/// To each of `ranks`, under `tag`, by the automatic route and without a deadline.
[[nodiscard]] constexpr destinations to(std::span<const int> ranks, std::uint64_t tag) noexcept {
  return {ranks, to(-1, tag)};
}

/// From `rank`, under `tag`, either of which may be a wildcard; without a deadline.
/// @{
[[nodiscard]] constexpr origin from(int rank, std::uint64_t tag) noexcept {
  return {.rank = rank, .tag = tag};
}
[[nodiscard]] constexpr origin from(int rank, any_tag_t) noexcept {
  return {.rank = rank, .every_tag = true};
}
[[nodiscard]] constexpr origin from(any_source_t, std::uint64_t tag) noexcept {
  return {.tag = tag, .any_rank = true};
}
[[nodiscard]] constexpr origin from(any_source_t, any_tag_t) noexcept {
  return {.any_rank = true, .every_tag = true};
}
/// @}

}  // namespace weft
