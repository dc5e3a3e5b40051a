// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <weft/engine/communicator.hpp>
#include <weft/engine/engine.hpp>
#include <weft/engine/options.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>

#include <cstddef>
#include <future>
#include <memory>
#include <thread>
#include <vector>

/// Ranks that share an executor, in one process.
namespace weft::testing {

inline constexpr int thread_count = 4;

/// An io_context that several threads run until it is destroyed.
struct threaded_context {
  threaded_context() {
    for (int i = 0; i < thread_count; ++i) threads_.emplace_back([this] { context.run(); });
  }
  threaded_context(const threaded_context&) = delete;
  threaded_context& operator=(const threaded_context&) = delete;
  ~threaded_context() {
    work_.reset();
    for (std::thread& thread : threads_) thread.join();
  }

  boost::asio::io_context context{thread_count};

 private:
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_ =
      boost::asio::make_work_guard(context);
  std::vector<std::thread> threads_;
};

/// All ranks of a group, as engines of this process.
class group {
 public:
  group(std::size_t ranks, const boost::asio::any_io_executor& executor) : executor_(executor) {
    const auto meeting = make_in_process_rendezvous(static_cast<int>(ranks));
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      engine_options options;
      options.rank = static_cast<int>(rank);
      options.world_size = static_cast<int>(ranks);
      options.meeting = meeting;
      engines_.push_back(std::make_unique<engine>(executor, options));
    }
    std::vector<std::future<communicator>> joined;
    for (const auto& one : engines_)
      joined.push_back(boost::asio::co_spawn(executor_, one->join(), boost::asio::use_future));
    for (auto& comm : joined) communicators.push_back(comm.get());
  }

  void close() {
    std::vector<std::future<void>> closed;
    for (const auto& one : engines_)
      closed.push_back(boost::asio::co_spawn(executor_, one->close(), boost::asio::use_future));
    for (auto& one : closed) one.get();
  }

  std::vector<communicator> communicators;

 private:
  boost::asio::any_io_executor executor_;
  std::vector<std::unique_ptr<engine>> engines_;
};

}  // namespace weft::testing
