// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <weft/engine/error.hpp>
#include <weft/engine/operation_details.hpp>

#include <cstddef>
#include <cstdint>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace weft {

/// Who sent a message, under which tag, and how many bytes of payload it had.
struct envelope {
  int source = -1;          ///< the sender's rank
  std::uint64_t tag = 0;    ///< as it was sent
  std::uint64_t bytes = 0;  ///< of payload
};

/// What a send completes with.
struct sent {
  static constexpr bool raises = true;  ///< a failed `co_await` calls `raise`
  operation_details details;            ///< of the operation, also of one that failed

  /// Throws the `weft::error` of a failed send.
  [[noreturn]] void raise(boost::system::error_code code) const { throw error(code, details); }
};

/// What a reservation completes with.
struct reserved {
  static constexpr bool raises = true;  ///< a failed `co_await` calls `raise`
  operation_details details;            ///< of one that failed: the peer is the first one that it failed with

  /// Throws the `weft::error` of a failed reservation.
  [[noreturn]] void raise(boost::system::error_code code) const { throw error(code, details); }
};

/// What a receive into buffers completes with.
struct received : envelope {
  static constexpr bool raises = true;  ///< a failed `co_await` calls `raise`
  operation_details details;            ///< of the operation, also of one that failed

  /// Throws the `weft::error` of a failed receive.
  [[noreturn]] void raise(boost::system::error_code code) const { throw error(code, details); }
};

/// What a receive of objects completes with; `auto [envelope, a, b] = co_await ...` takes it apart.
template <class... Ts>
struct received_objects {
  static constexpr bool raises = true;  ///< a failed `co_await` calls `raise`
  weft::envelope envelope;              ///< who sent them, and how
  std::tuple<Ts...> values;             ///< the objects
  operation_details details;            ///< of the operation, also of one that failed

  /// Throws the `weft::error` of a failed receive.
  [[noreturn]] void raise(boost::system::error_code code) const { throw error(code, details); }

  /// For structured bindings: element 0 is the envelope, the objects follow.
  /// @{
  template <std::size_t I>
  decltype(auto) get() & {
    if constexpr (I == 0)
      return (envelope);
    else
      return std::get<I - 1>(values);
  }
  template <std::size_t I>
  decltype(auto) get() const& {
    if constexpr (I == 0)
      return (envelope);
    else
      return std::get<I - 1>(values);
  }
  template <std::size_t I>
  decltype(auto) get() && {
    if constexpr (I == 0)
      return std::move(envelope);
    else
      return std::get<I - 1>(std::move(values));
  }
  /// @}
};

/// One operation of a batch, as it ended.
struct batch_entry {
  boost::system::error_code code;  ///< how it ended
  weft::envelope envelope;         ///< of a receive
  operation_details details;       ///< of the operation, also of one that failed
};

/// What a batch completes with: one entry per operation, in the order in which they were added.
struct batch_result {
  static constexpr bool raises = true;  ///< a failed `co_await` calls `raise`
  std::vector<batch_entry> entries;     ///< those that succeeded, too

  /// Throws the `weft::error` of the first operation that failed.
  [[noreturn]] void raise(boost::system::error_code code) const {
    for (const batch_entry& entry : entries)
      if (entry.code) throw error(entry.code, entry.details);
    throw error(code, operation_details{});
  }
};

}  // namespace weft

template <class... Ts>
struct std::tuple_size<weft::received_objects<Ts...>> : std::integral_constant<std::size_t, 1 + sizeof...(Ts)> {};
template <class... Ts>
struct std::tuple_element<0, weft::received_objects<Ts...>> {
  using type = weft::envelope;
};
template <std::size_t I, class... Ts>
struct std::tuple_element<I, weft::received_objects<Ts...>> {
  using type = std::tuple_element_t<I - 1, std::tuple<Ts...>>;
};
