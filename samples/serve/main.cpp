// SPDX-License-Identifier: Apache-2.0
// A server whose front answers HTTP and whose workers count words: docs/serving.md. Run it with:
// weft-run -n 4 serve [--port 8080] [--deadline MS] [--capacity N]
#include "../help.hpp"
#include "front.hpp"
#include "worker.hpp"

#include <weft/weft.hpp>

#include <csignal>

namespace {

boost::asio::awaitable<int> serve_rank(weft::communicator comm, std::vector<std::string> words) {
  const serve::options given = serve::parse_options(words);
  if (comm.rank() == 0) co_return co_await serve::run_front(comm, given);
  // weft-run passes signals on to all ranks: the front ends the job, once it has answered what it has begun.
  std::signal(SIGTERM, SIG_IGN);
  std::signal(SIGINT, SIG_IGN);
  co_return co_await serve::run_worker(comm);
}

constexpr auto help = R"(usage: weft-run -n N serve [--port PORT] [--deadline MS] [--capacity N]

Rank 0 answers HTTP, the others count words: see docs/serving.md.

  --port PORT    where to listen, 0 for any free one; default 8080
  --deadline MS  for a request that names none; default 10000
  --capacity N   requests under way at one worker; default 8
)";

}  // namespace

int main(int argc, char** argv) {
  if (samples::gave_help(argc, argv, help)) return 0;
  return weft::run(argc, argv, serve_rank);
}
