// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace weft::detail {

/// What a rank tells the others at the rendezvous: how to reach its parts, and what it grants. As one line of text:
/// "key=value" pairs between semicolons, so that a person can read it in a store.
struct rank_card {
  std::uint64_t incarnation = 0;
  std::size_t inline_credit = 0;
  std::string links;        ///< where its peers' links arrive
  std::string device_name;  ///< the kind of its device
  std::string device;       ///< where other devices connect
  std::string sequencer;    ///< on rank 0

  [[nodiscard]] std::string text() const;
  /// Throws `weft::error` that names the rank where the text is no card.
  [[nodiscard]] static rank_card parse(std::string_view text, int rank);
};

}  // namespace weft::detail
