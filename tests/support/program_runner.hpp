// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "../simulation/program.hpp"
#include "program_memory.hpp"

#include <weft/engine/communicator.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/steady_timer.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <vector>

/// Programs made by chance, on real engines.
namespace weft::testing {

/// How a program is scaled.
struct program_scale {
  std::size_t unit = 1'024;                 ///< of size, in bytes
  std::chrono::microseconds tick{10};       ///< of short deadlines and of cancellations
  std::chrono::milliseconds patience{100};  ///< with operations that may lack a counterpart
};

/// How one operation has ended at its rank.
struct operation_report {
  int number = -1;         ///< in the program; -1: was not started
  int order = 0;           ///< in which the rank started it
  int code = 0;            ///< an `errc`, or 0
  bool cancelled = false;  ///< was asked to end
  bool owned = false;      ///< its memory is the engine's: what came of the message of one that failed is unknown
  int source = -1;         ///< of a receive, as its envelope says
  std::uint64_t tag = 0;   ///< the same
  int message = -1;        ///< of a receive: the send that its bytes name
  std::string problem{};   ///< what the rank itself has found wrong

  template <class Archive>
  void serialize(Archive& archive) {
    archive(number, order, code, cancelled, owned, source, tag, message, problem);
  }
};

/// Plays one rank's part in a program.
class program_runner {
 public:
  /// `whole` has as many ranks as the program, which must outlive this object, as must the memory.
  program_runner(const simulation::program& what, communicator whole, const program_scale& how, program_memory& memory,
                 boost::asio::any_io_executor executor);

  /// Completes when every operation of this rank has ended.
  boost::asio::awaitable<std::vector<operation_report>> run();

  /// Receives what nobody has received, once all ranks have come to their ends, and yields how much that was.
  boost::asio::awaitable<int> drain();

  /// The numbers of the operations that have been started and have not ended.
  [[nodiscard]] std::vector<int> unfinished() const;

 private:
  /// Ends operations early, all those of a batch together.
  struct early_end {
    explicit early_end(const boost::asio::any_io_executor& executor) : timer(executor) {}
    boost::asio::cancellation_signal signal;
    boost::asio::steady_timer timer;
    bool asked = false;
  };
  struct operation {
    program_buffer lent;
    device_buffer owned;
    std::shared_ptr<early_end> leaving;  ///< shared with a timer that may be firing
    operation_report report;
    bool started = false;
    bool ended = false;
    int* unfinished = nullptr;  ///< of its strand
  };

  boost::asio::awaitable<void> form_groups();
  boost::asio::awaitable<void> run_strand(const simulation::strand& what, int& unfinished);
  boost::asio::awaitable<void> until(const int& count_is_zero);
  void prepare(int number, int& unfinished);
  void start(int number);
  void start_owned(int number);
  void lend(int number);
  void start_batches(const std::vector<int>& numbers);
  [[nodiscard]] std::shared_ptr<early_end> arm(const std::vector<int>& numbers);
  template <class Operation>
  void start_send_or_receive(int number, Operation one);
  void end(int number, boost::system::error_code code, const envelope& got);
  void examine(operation& one);

  [[nodiscard]] const simulation::planned_operation& planned(int number) const {
    return what_.operations[static_cast<std::size_t>(number)];
  }
  [[nodiscard]] operation& at(int number) { return operations_[static_cast<std::size_t>(number)]; }
  [[nodiscard]] const communicator& group_of(int number) const {
    return groups_[static_cast<std::size_t>(planned(number).group)];
  }
  [[nodiscard]] std::size_t bytes_of(int number) const { return planned(number).units * how_.unit; }
  [[nodiscard]] std::chrono::nanoseconds limit_of(int number) const;
  [[nodiscard]] destination to_peer(int number) const;
  [[nodiscard]] origin from_peer(int number) const;

  const simulation::program& what_;
  program_scale how_;
  program_memory host_memory_;
  program_memory& memory_;
  boost::asio::any_io_executor executor_;
  boost::asio::steady_timer changed_;  ///< wakes whoever waits for a count
  std::vector<communicator> groups_;
  std::vector<operation> operations_;
  std::vector<int> unfinished_;  ///< by strand
  int running_strands_ = 0;
  int running_operations_ = 0;
  int started_ = 0;
  std::exception_ptr thrown_;
};

}  // namespace weft::testing
