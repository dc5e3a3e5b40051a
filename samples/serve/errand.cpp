// SPDX-License-Identifier: Apache-2.0
#include "errand.hpp"

#include <weft/engine/objects.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace serve {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;

constexpr auto with_code = asio::as_tuple(asio::use_awaitable);

/// Cancels a request and takes what the worker still says of it, so that no part stays unmatched for ever.
asio::awaitable<void> wind_down(desk& shared, place where) {
  const head_count::member present(shared.under_way);
  const cancel order{where.tag};
  auto [code, result] = co_await weft::send_objects(shared.comm, weft::to(where.worker, cancels), order)(with_code);
  bool last = static_cast<bool>(code);  // nothing comes from a worker that is gone
  while (!last) {
    auto [ended, rest] = co_await weft::recv_objects<part>(shared.comm, weft::from(where.worker, where.tag))(with_code);
    const part& next = std::get<0>(rest.values);
    last = ended || next.last;
    if (!ended && next.given_up) ++shared.so_far.given_up;
  }
  shared.workers.give_back(where);
}

}  // namespace

errand::~errand() {
  if (at_worker_)
    asio::co_spawn(shared_.executor, wind_down(shared_, where_), asio::detached);
  else
    shared_.workers.give_back(where_);
}

asio::awaitable<error_code> errand::hand_over(const request& what, time_point deadline) {
  const auto worker = weft::to(where_.worker, requests).within(deadline - std::chrono::steady_clock::now());
  auto [code, result] = co_await weft::send_objects(shared_.comm, worker, what)(with_code);
  // A send that ended early in the phase `unmatched` was withdrawn. Later than that, the worker gets the request all
  // the same.
  at_worker_ = !code || result.details.phase > weft::phase::unmatched;
  co_return code;
}

asio::awaitable<error_code> errand::receive(part& next, time_point deadline) {
  const auto worker = weft::from(where_.worker, where_.tag).within(deadline - std::chrono::steady_clock::now());
  auto [code, result] = co_await weft::recv_objects<part>(shared_.comm, worker)(with_code);
  if (code) co_return code;
  next = std::get<0>(std::move(result.values));
  at_worker_ = !next.last;
  co_return code;
}

}  // namespace serve
