// SPDX-License-Identifier: Apache-2.0
#include <weft/engine/run.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/multiple_exceptions.hpp>

#include <exception>
#include <iostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weft {
namespace {

namespace asio = boost::asio;

asio::awaitable<int> join_and_run(engine& one, const main_coroutine& body, std::vector<std::string> arguments) {
  communicator comm = co_await one.join();
  const int status = co_await body(comm, std::move(arguments));
  co_await one.close();
  co_return status;
}

/// What Asio's && and || throw says "multiple exceptions", and only the first of these says why.
std::string describe(const std::exception_ptr& problem) {
  try {
    std::rethrow_exception(problem);
  } catch (const asio::multiple_exceptions& several) {
    return describe(several.first_exception());
  } catch (const std::exception& one) {
    return one.what();
  } catch (...) {
    return "something was thrown that is no std::exception";
  }
}

}  // namespace

int run(int argc, char** argv, const main_coroutine& body) {
  int status = 1;
  try {
    asio::io_context context(1);
    engine_options options = options_from_environment();
    options.log = [rank = options.rank](log_level level, std::string_view line) {
      if (level != log_level::info) std::cerr << "weft (rank " << rank << "): " << line << std::endl;
    };
    engine one(context.get_executor(), std::move(options));
    std::vector<std::string> arguments(argv + (argc > 0 ? 1 : 0), argv + argc);
    std::exception_ptr problem;
    auto finished = [&](const std::exception_ptr& thrown, int result) {
      problem = thrown;
      status = result;
      if (thrown) context.stop();  // the links would keep the loop alive
    };
    asio::co_spawn(context, join_and_run(one, body, std::move(arguments)), finished);
    context.run();
    if (problem) std::rethrow_exception(problem);
  } catch (...) {
    std::cerr << (argc > 0 ? argv[0] : "weft") << ": " << describe(std::current_exception()) << '\n';
    return 1;
  }
  return status;
}

}  // namespace weft
