// SPDX-License-Identifier: Apache-2.0
#include "pair_end.hpp"

#include <weft/engine/objects.hpp>

namespace weft::bench {

boost::asio::awaitable<void> pair_end::all_arrived() const {
  if (leads())
    co_await recv_objects<bool>(comm, from(peer(), tags::all_arrived));
  else
    co_await send_objects(comm, to(peer(), tags::all_arrived), true);
}

}  // namespace weft::bench
