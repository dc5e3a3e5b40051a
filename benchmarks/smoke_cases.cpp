// SPDX-License-Identifier: Apache-2.0
#include "smoke.hpp"

#include "arguments.hpp"

#include <weft/engine/engine.hpp>
#include <weft/engine/objects.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/io_context.hpp>

#include <algorithm>
#include <exception>
#include <memory>
#include <string>
#include <vector>

namespace weft::bench {
namespace {

namespace asio = boost::asio;
using work = asio::awaitable<void>;

/// A request as servers get many of.
struct request {
  int kind = 1;
  int session = 2;
  int length = 3;
  std::string user = std::string(32, 'u');
  std::vector<double> weights = std::vector<double>(16, 0.5);

  template <class Archive>
  void serialize(Archive& archive) {
    archive(kind, session, length, user, weights);
  }
};

// ---- the cases: what each of two ranks does

work exchange_buffers(communicator comm, std::uint64_t exchanges) {
  std::vector<std::byte> bytes(64);
  const int peer = 1 - comm.rank();
  for (; exchanges > 0; --exchanges) {
    if (comm.rank() == 0) co_await comm.send(bytes, to(peer, 1));
    co_await comm.recv(bytes, from(peer, 1));
    if (comm.rank() == 1) co_await comm.send(bytes, to(peer, 1));
  }
}

work exchange_objects(communicator comm, std::uint64_t exchanges) {
  request own;
  const int peer = 1 - comm.rank();
  for (; exchanges > 0; --exchanges) {
    if (comm.rank() == 0) co_await send_objects(comm, to(peer, 1), own);
    auto [envelope, received] = co_await recv_objects<request>(comm, from(peer, 1));
    own = std::move(received);
    if (comm.rank() == 1) co_await send_objects(comm, to(peer, 1), own);
  }
}

/// One way: rank 1 takes what comes, from anyone and with any tag, and acknowledges now and then.
work stream_buffers(communicator comm, std::uint64_t exchanges) {
  constexpr std::uint64_t window = 64;
  std::vector<std::byte> bytes(64);
  for (std::uint64_t i = 0; i < exchanges; ++i) {
    if (comm.rank() == 0) co_await comm.send(bytes, to(1, i));
    if (comm.rank() == 1) co_await comm.recv(bytes, from(any_source, any_tag));
    if (i % window != window - 1) continue;
    if (comm.rank() == 1) co_await comm.send(bytes, to(0, 0));
    if (comm.rank() == 0) co_await comm.recv(bytes, from(1, 0));
  }
}

/// Above `eager_limit`: announced first, then carried by the link.
work exchange_large(communicator comm, std::uint64_t exchanges) {
  std::vector<std::byte> bytes(std::size_t{64} << 10);
  const int peer = 1 - comm.rank();
  for (; exchanges > 0; --exchanges) {
    if (comm.rank() == 0) co_await comm.send(bytes, to(peer, 1));
    co_await comm.recv(bytes, from(peer, 1));
    if (comm.rank() == 1) co_await comm.send(bytes, to(peer, 1));
  }
}

struct smoke_body {
  std::string_view name;
  work (*run)(communicator, std::uint64_t);
};
constexpr smoke_body bodies[]{
    {"buffers", exchange_buffers},
    {"objects", exchange_objects},
    {"stream", stream_buffers},
    {"large", exchange_large},
};

// ---- two ranks in one thread, because callgrind has one thread run at a time anyway

work live(engine& one, const smoke_body& body, std::uint64_t exchanges) {
  communicator comm = co_await one.join();
  co_await body.run(comm, exchanges);
  co_await one.close();
}

engine_options options_of(int rank, const std::shared_ptr<rendezvous>& meeting) {
  engine_options own;
  own.rank = rank;
  own.world_size = 2;
  own.meeting = meeting;
  own.device = device_choice::host;
  return own;
}

}  // namespace

void run_smoke_case(std::string_view name, std::uint64_t exchanges) {
  const auto* body = std::ranges::find(bodies, name, &smoke_body::name);
  if (body == std::end(bodies)) {
    std::string names;
    for (const smoke_body& each : bodies) names += " " + std::string(each.name);
    throw usage_error("--smoke counts one of" + names + ", not '" + std::string(name) + "'");
  }
  asio::io_context context(1);
  const auto meeting = make_in_process_rendezvous(2);
  engine first(context.get_executor(), options_of(0, meeting));
  engine second(context.get_executor(), options_of(1, meeting));
  std::exception_ptr problem;
  const auto ended = [&](const std::exception_ptr& thrown) {
    if (!thrown) return;
    problem = thrown;
    context.stop();
  };
  asio::co_spawn(context, live(first, *body, exchanges), ended);
  asio::co_spawn(context, live(second, *body, exchanges), ended);
  context.run();
  if (problem) std::rethrow_exception(problem);
}

}  // namespace weft::bench
