// SPDX-License-Identifier: Apache-2.0
#include "together.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/experimental/parallel_group.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <cstddef>
#include <exception>
#include <utility>

namespace weft::bench {

namespace asio = boost::asio;

asio::awaitable<void> together(std::vector<asio::awaitable<void>> all) {
  const auto executor = co_await asio::this_coro::executor;
  using operation = decltype(asio::co_spawn(executor, std::move(all.front()), asio::deferred));
  std::vector<operation> operations;
  operations.reserve(all.size());
  for (auto& each : all) operations.push_back(asio::co_spawn(executor, std::move(each), asio::deferred));
  auto group = asio::experimental::make_parallel_group(std::move(operations));
  const auto [order, problems] =
      co_await group.async_wait(asio::experimental::wait_for_one_error(), asio::use_awaitable);
  for (const std::size_t each : order)
    if (problems[each]) std::rethrow_exception(problems[each]);
}

}  // namespace weft::bench
