// SPDX-License-Identifier: Apache-2.0
#include "crew.hpp"

#include "tags.hpp"

#include <weft/engine/objects.hpp>

namespace weft::bench {

boost::asio::awaitable<void> wait_for_all(weft::communicator comm) {
  if (comm.rank() != 0) {
    co_await send_objects(comm, to(0, tags::ready), true);
    co_await recv_objects<bool>(comm, from(0, tags::go));
    co_return;
  }
  for (int i = 1; i < comm.size(); ++i) co_await recv_objects<bool>(comm, from(i, tags::ready));
  for (int i = 1; i < comm.size(); ++i) co_await send_objects(comm, to(i, tags::go), true);
}

}  // namespace weft::bench
