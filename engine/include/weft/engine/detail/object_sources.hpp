// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <weft/engine/detail/device_segments.hpp>
#include <weft/engine/detail/sources.hpp>
#include <weft/engine/options.hpp>
#include <weft/serializers/fingerprint.hpp>
#include <weft/serializers/frame.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

/// The descriptions of operations on objects.
namespace weft::detail {

/// Objects that were serialized: a frame, and what travels behind it from where it lies.
struct serialized_objects {
  serializers::byte_buffer frame;
  std::vector<const_buffer_view> segments;

  /// What the receiver needs first; 0 where there is nothing else.
  [[nodiscard]] std::size_t head() const noexcept { return segments.empty() ? 0 : frame.size(); }
};

[[nodiscard]] inline const_buffer_view view_of(const serializers::segment& one) {
  const_buffer_view view{one.data, one.bytes};
  if (!one.device) return view;
  view.memory = memory_kind::device;
  view.ordinal = *one.device;
  return view;
}

/// Serializes objects that stay until they are sent, but for those in `moving`, which is about to be moved.
template <class Format, class... Ts>
void serialize(serialized_objects& into, engine_core& core, std::span<const std::byte> moving, const Ts&... objects) {
  serializers::segment_list list(options_of(core).segment_threshold);
  list.exclude(moving.data(), moving.size());
  Format::encode(into.frame, list, objects...);
  if (list.is_mixed()) {
    into.frame.clear();
    list.restart_apart();
    Format::encode(into.frame, list, objects...);
  }
  into.segments.reserve(list.segments().size());
  for (const serializers::segment& one : list.segments()) into.segments.push_back(view_of(one));
}

/// Nothing is sent of objects that could not be serialized.
void refuse_objects(engine_core& core, waiter& who, const destination& where, const std::exception& problem);

/// A device's memory is handed out in multiples of that many bytes.
inline constexpr std::size_t smallest_device_block = 256;

/// Throws where so many bytes are more than may be taken memory for before they have come.
void check_ahead(const serializers::limits& bounds, std::uint64_t bytes);

/// A message that had arrived whole could not be loaded: its sender, whose send is over, hears of it.
void tell_sender(const place& within, const operation_details& received, const boost::system::error_code& code);

/// Sends objects as one message. Objects given as rvalues are kept; others are referred to until they are sent.
template <class Format, class... Stored>
class send_objects_source : public operation_source_base {
 public:
  using result_type = sent;

  send_objects_source(place within, destination where, Stored... objects)
      : operation_source_base(std::move(within)), where_(where), objects_(std::forward<Stored>(objects)...) {}

  void start(waiter& who) {
    serialized_objects serialized{take_frame(*place_.core), {}};
    try {
      std::apply(
          [&](const auto&... object) {
            serialize<Format>(serialized, *place_.core, std::as_bytes(std::span(&objects_, 1)), object...);
          },
          objects_);
    } catch (const std::exception& problem) {
      return refuse_objects(*place_.core, who, where_, problem);
    }
    operation_request wanted;
    wanted.set(where_);
    wanted.kind = payload_kind::objects;
    wanted.fingerprint = serializers::type_fingerprint<std::remove_cvref_t<Stored>...>();
    wanted.pieces = serialized.segments;
    wanted.head = serialized.head();
    wanted.frame = std::move(serialized.frame);
    if (wanted.head != 0) keep_alive(wanted);
    begin(std::move(wanted), who);
  }
  [[nodiscard]] static sent finish(const boost::system::error_code& code, outcome&& ended) {
    if (code == errc::object_type_mismatch)
      name_types(ended.details, serializers::joined_type_names<std::remove_cvref_t<Stored>...>());
    return {std::move(ended.details)};
  }

 private:
  static constexpr bool borrows = (std::is_reference_v<Stored> || ...);

  struct owned_objects final : owned_memory {
    explicit owned_objects(std::tuple<Stored...>&& from) : objects(std::move(from)) {}
    std::tuple<Stored...> objects;
  };

  // A segment in the heap stays where it is when its object moves; others were not taken.
  void keep_alive(operation_request& wanted) {
    wanted.borrows = borrows;
    if constexpr (!(std::is_reference_v<Stored> && ...))
      wanted.owner = std::make_shared<owned_objects>(std::move(objects_));
  }

  destination where_;
  std::tuple<Stored...> objects_;
};

/// How objects are received: in `Format`, into `Values`, a tuple of objects, or of references to them. A message of
/// which some part travels apart comes in two steps: its head says how much room to make, and where.
template <class Format, class Values>
class object_receipt;

template <class Format, class... Ts>
class object_receipt<Format, std::tuple<Ts...>> {
 public:
  using values_type = std::tuple<Ts...>;

  static constexpr std::uint64_t fingerprint = serializers::type_fingerprint<std::remove_reference_t<Ts>...>();

  object_receipt(std::optional<serializers::limits> bounds, Ts... initial)
      : bounds_(bounds), initial_(std::forward<Ts>(initial)...) {}

  /// The head of a message has come: the rest is asked for, or refused.
  bool go_on(engine_core& core, waiter& who, boost::system::error_code code, outcome& ended) {
    if (code || ended.held == 0) return false;
    const std::uint64_t rest = ended.details.here.bytes - ended.frame.size();
    room_ = std::make_shared<room>(std::move(initial_), std::move(ended.frame));
    operation_request wanted;
    wanted.operation = operation_kind::receive;
    wanted.kind = payload_kind::objects;
    wanted.fingerprint = fingerprint;
    wanted.waiter = &who;
    try {
      if (ended.details.here.memory == memory_kind::device)
        make_room_apart(core, rest);
      else
        make_room(limits_of(core), rest);
    } catch (const serializers::limit_exceeded& problem) {
      refuse(core, ended.held, &who, errc::message_too_large, problem.what());
      return true;
    } catch (const std::bad_alloc&) {
      refuse(core, ended.held, &who, errc::message_too_large,
             "the receiver has no memory for its " + std::to_string(rest) + " bytes");
      return true;
    } catch (const std::exception& problem) {
      refuse(core, ended.held, &who, errc::malformed_frame, problem.what());
      return true;
    }
    const std::vector<const_buffer_view> places = room_->views();
    wanted.pieces = places;
    wanted.owner = room_;
    wanted.borrows = room_->lands && (std::is_reference_v<Ts> || ...);
    resume(core, ended.held, std::move(wanted));
    return true;
  }

  /// All has come.
  values_type finish(engine_core& core, boost::system::error_code& code, outcome& ended) {
    if (code == errc::object_type_mismatch)
      name_types(ended.details, serializers::joined_type_names<std::remove_reference_t<Ts>...>());
    // Where the waiter leaves early, the rest may still be on its way into the objects of the room: they stay there.
    values_type values(room_ && !code ? std::move(room_->values) : std::move(initial_));
    if (!code) {
      try {
        load(core, values, ended);
      } catch (const serializers::limit_exceeded& problem) {
        code = errc::message_too_large;
        ended.details.reason = problem.what();
      } catch (const std::exception& problem) {
        code = errc::malformed_frame;
        ended.details.reason = problem.what();
      }
    }
    return_frame(core, std::move(ended.frame));
    if (room_) return_frame(core, std::move(room_->head));
    return values;
  }

 private:
  /// Where the rest of a message goes: directly into the objects, or to memory from which it is copied.
  struct room final : owned_memory {
    room(values_type&& from, serializers::byte_buffer first)
        : values(std::forward<values_type>(from)), head(std::move(first)) {}

    [[nodiscard]] std::vector<const_buffer_view> views() const {
      if (!lands && apart.empty()) return {{body.data(), body.size()}};
      std::vector<const_buffer_view> all;
      all.reserve(apart.size());
      for (const std::shared_ptr<void>& one : apart) all.push_back(static_cast<device_block*>(one.get())->whole);
      all.reserve(places.size());
      for (const serializers::landing_place& one : places) all.push_back({one.data, one.bytes});
      return all;
    }

    values_type values;
    serializers::byte_buffer head;
    serializers::byte_buffer body;
    std::vector<serializers::landing_place> places;
    std::vector<std::shared_ptr<void>> apart;  ///< a `device_block` for each segment, where they lie in such memory
    bool lands = false;
  };

  [[nodiscard]] const serializers::limits& limits_of(const engine_core& core) const {
    return bounds_ ? *bounds_ : options_of(core).object_limits;
  }

  void make_room(const serializers::limits& bounds, std::uint64_t rest) {
    if constexpr ((serializers::late_delivery<std::remove_reference_t<Ts>> && ...)) {
      serializers::segment_reader segments(rest);
      try {
        decode(room_->values, room_->head.bytes(), segments, bounds);
        room_->places.assign(segments.places().begin(), segments.places().end());
        room_->lands = true;
        return;
      } catch (const serializers::cannot_land&) {
        // Received first, and copied.
      }
    }
    check_ahead(bounds, rest);
    room_->body.resize_uninitialized(rest);
  }

  // Nobody can look at the bytes: the objects are loaded when all have come, and given the memory where they are.
  void make_room_apart(engine_core& core, std::uint64_t rest) {
    const serializers::limits& bounds = limits_of(core);
    const auto sizes = serializers::segment_sizes(room_->head.bytes(), sizeof...(Ts), rest, bounds);
    // Small ones take more than they have.
    check_ahead(bounds, rest + sizes.size() * smallest_device_block);
    room_->apart.reserve(sizes.size());
    for (const std::uint64_t bytes : sizes) room_->apart.push_back(allocate(core, bytes, element_type::bytes));
  }

  void load(engine_core& core, values_type& values, outcome& ended) {
    if (room_ && !room_->apart.empty()) {
      const std::uint64_t rest = ended.details.here.bytes - room_->head.size();
      serializers::segment_reader segments(room_->apart, rest);
      decode(values, room_->head.bytes(), segments, limits_of(core));
      return count_segments(core, rest, 0);
    }
    if (room_ && room_->lands) return count_segments(core, ended.details.here.bytes - room_->head.size(), 0);
    const std::span<const std::byte> whole = ended.frame.bytes();
    const std::uint64_t head = ended.details.here.head == 0 ? whole.size() : ended.details.here.head;
    serializers::segment_reader segments(room_ ? room_->body.bytes() : whole.subspan(head));
    decode(values, room_ ? room_->head.bytes() : whole.first(head), segments, limits_of(core));
    if (segments.copied() != 0) count_segments(core, 0, segments.copied());
  }

  static void decode(values_type& values, std::span<const std::byte> frame, serializers::segment_reader& segments,
                     const serializers::limits& bounds) {
    std::apply([&](auto&... object) { Format::decode_into(frame, segments, bounds, object...); }, values);
  }

  std::optional<serializers::limits> bounds_;
  values_type initial_;
  std::shared_ptr<room> room_;
};

/// A receive that is posted.
struct posted_receive {
  origin where;

  void begin(const place& within, operation_request request) {
    request.set(where);
    request.group = within.group;
    detail::start(*within.core, std::span(&request, 1));
  }
};

template <class Values>
struct result_of_receipt {
  using type = received;
};
template <class... Ts>
requires(!std::is_reference_v<Ts> && ...) struct result_of_receipt<std::tuple<Ts...>> {
  using type = received_objects<Ts...>;
};

/// Receives objects: as values, or into those that a tuple of references names. `Beginning` says which message.
template <class Beginning, class Format, class Values>
class receive_objects_source : public operation_source_base {
 public:
  using result_type = typename result_of_receipt<Values>::type;

  receive_objects_source(place within, Beginning beginning, object_receipt<Format, Values> receipt)
      : operation_source_base(std::move(within)), beginning_(std::move(beginning)), receipt_(std::move(receipt)) {}

  void start(waiter& who) {
    operation_request wanted;
    wanted.kind = payload_kind::objects;
    wanted.fingerprint = receipt_.fingerprint;
    wanted.waiter = &who;
    beginning_.begin(place_, std::move(wanted));
  }
  [[nodiscard]] bool go_on(waiter& who, boost::system::error_code code, outcome& ended) {
    return receipt_.go_on(*place_.core, who, code, ended);
  }
  [[nodiscard]] result_type finish(boost::system::error_code& code, outcome&& ended) {
    const bool arrived = !code;
    [[maybe_unused]] Values values = receipt_.finish(*place_.core, code, ended);
    if (arrived && code) tell_sender(place_, ended.details, code);
    if constexpr (std::same_as<result_type, received>)
      return {envelope_of(ended.details), std::move(ended.details)};
    else
      return {envelope_of(ended.details), std::move(values), std::move(ended.details)};
  }

 private:
  Beginning beginning_;
  object_receipt<Format, Values> receipt_;
};

}  // namespace weft::detail
