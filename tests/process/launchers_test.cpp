// SPDX-License-Identifier: Apache-2.0
// Jobs whose ranks are started with exactly the variables that well-known launchers set.
#include "../support/spawned_program.hpp"

#include <doctest/doctest.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using weft::test::spawned_program;
using words = std::vector<std::string>;

constexpr int ranks = 3;

/// A listener of 127.0.0.1, as that of torchrun's store.
class port_holder {
 public:
  explicit port_holder(std::uint16_t port = 0) : descriptor_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(port);
    socklen_t size = sizeof address;
    holds_ = bind(descriptor_, reinterpret_cast<sockaddr*>(&address), size) == 0 && listen(descriptor_, 1) == 0;
    if (holds_ && getsockname(descriptor_, reinterpret_cast<sockaddr*>(&address), &size) == 0)
      port_ = ntohs(address.sin_port);
  }
  port_holder(const port_holder&) = delete;
  port_holder& operator=(const port_holder&) = delete;
  ~port_holder() { close(descriptor_); }

  [[nodiscard]] bool holds() const { return holds_; }
  [[nodiscard]] std::uint16_t port() const { return port_; }

 private:
  int descriptor_;
  bool holds_ = false;
  std::uint16_t port_ = 0;
};

/// A held port whose neighbour above is free.
std::unique_ptr<port_holder> hold_port_below_a_free_one() {
  for (int attempt = 0; attempt < 100; ++attempt) {
    auto store = std::make_unique<port_holder>();
    if (!store->holds() || store->port() == 65535) continue;
    if (port_holder(static_cast<std::uint16_t>(store->port() + 1)).holds()) return store;
  }
  throw std::runtime_error("no two neighbouring ports are free");
}

std::string unique_meeting() {
  static int count = 0;
  return "WEFT_RENDEZVOUS=unix:weft-launchers-test-" + std::to_string(getpid()) + "-" + std::to_string(count++);
}

/// Nothing of this test's own environment is passed on but what instrumented programs need.
words clean_environment() {
  words command{"/usr/bin/env", "-i"};
  for (const char* const name : {"ASAN_OPTIONS", "TSAN_OPTIONS", "UBSAN_OPTIONS", "LD_LIBRARY_PATH"})
    if (const char* const value = std::getenv(name)) command.push_back(std::string(name) + "=" + value);
  return command;
}

std::unique_ptr<spawned_program> start(const words& variables) {
  words command = clean_environment();
  command.insert(command.end(), variables.begin(), variables.end());
  command.emplace_back(HELLO_OBJECTS_PATH);
  return std::make_unique<spawned_program>(std::move(command));
}

/// Starts all ranks and checks that each met all others; `variables` gives those of a rank.
template <class Variables>
void check_that_they_meet(Variables variables) {
  std::vector<std::unique_ptr<spawned_program>> programs;
  for (int rank = 0; rank < ranks; ++rank) programs.push_back(start(variables(rank)));
  for (int rank = 0; rank < ranks; ++rank) {
    const auto ended = programs[static_cast<std::size_t>(rank)]->finish();
    CAPTURE(rank);
    CAPTURE(ended.output);
    CAPTURE(ended.errors);
    CHECK(ended.status == 0);
    if (rank != 0) CHECK(ended.output == "the sum is " + std::to_string(3 + rank) + "\n");
  }
}

words torchrun(int rank, const std::string& master, std::uint16_t port) {
  const std::string own = std::to_string(rank);
  const std::string all = std::to_string(ranks);
  return {"LOCAL_RANK=" + own,
          "RANK=" + own,
          "GROUP_RANK=0",
          "ROLE_RANK=" + own,
          "ROLE_NAME=default",
          "LOCAL_WORLD_SIZE=" + all,
          "WORLD_SIZE=" + all,
          "GROUP_WORLD_SIZE=1",
          "ROLE_WORLD_SIZE=" + all,
          "MASTER_ADDR=" + master,
          "MASTER_PORT=" + std::to_string(port),
          "TORCHELASTIC_RESTART_COUNT=0",
          "TORCHELASTIC_MAX_RESTARTS=0",
          "TORCHELASTIC_RUN_ID=none",
          "TORCHELASTIC_USE_AGENT_STORE=True",
          "TORCH_NCCL_ASYNC_ERROR_HANDLING=1",
          "OMP_NUM_THREADS=1"};
}

words slurm_step(int rank) {
  const std::string own = std::to_string(rank);
  const std::string all = std::to_string(ranks);
  return {"SLURM_JOB_ID=4711",
          "SLURM_JOBID=4711",
          "SLURM_JOB_NODELIST=node[1-2]",
          "SLURM_JOB_NUM_NODES=2",
          "SLURM_NODELIST=node1",
          "SLURM_NNODES=2",
          "SLURM_NODEID=0",
          "SLURM_STEP_ID=0",
          "SLURM_STEPID=0",
          "SLURM_STEP_NUM_NODES=2",
          "SLURM_STEP_NUM_TASKS=" + all,
          "SLURM_NTASKS=" + all,
          "SLURM_NPROCS=" + all,
          "SLURM_PROCID=" + own,
          "SLURM_LOCALID=" + own,
          "SLURM_GTIDS=0,1,2",
          "SLURM_CPUS_ON_NODE=64",
          "SLURM_TASK_PID=" + own,
          "SLURM_TASKS_PER_NODE=2,1",
          "SLURM_LAUNCH_NODE_IPADDR=10.0.0.1"};
}

}  // namespace

TEST_CASE("ranks that torchrun starts meet beside its store, with nothing set by hand") {
  const auto store = hold_port_below_a_free_one();
  for (const std::string master : {"127.0.0.1", "localhost"}) {
    CAPTURE(master);
    check_that_they_meet([&](int rank) { return torchrun(rank, master, store->port()); });
  }
}

TEST_CASE("ranks that torchrun starts with a job key meet over TCP, one port above its store") {
  const auto store = hold_port_below_a_free_one();
  check_that_they_meet([&](int rank) {
    words variables = torchrun(rank, "127.0.0.1", store->port());
    variables.insert(variables.end(), {"WEFT_JOB_KEY=the key of a test", "WEFT_TRANSPORT=tcp"});
    return variables;
  });
}

TEST_CASE("ranks that srun starts meet where they are told to") {
  const std::string meeting = unique_meeting();
  check_that_they_meet([&](int rank) {
    words variables = slurm_step(rank);
    variables.push_back(meeting);
    return variables;
  });
}

TEST_CASE("ranks that mpirun starts within a batch script of Slurm are numbered by mpirun") {
  const std::string meeting = unique_meeting();
  check_that_they_meet([&](int rank) {
    words variables = slurm_step(0);
    variables.insert(variables.end(), {meeting, "OMPI_COMM_WORLD_RANK=" + std::to_string(rank),
                                       "OMPI_COMM_WORLD_SIZE=" + std::to_string(ranks),
                                       "OMPI_COMM_WORLD_LOCAL_RANK=" + std::to_string(rank)});
    return variables;
  });
}

TEST_CASE("rank 0 tells on standard error who was refused, and goes on with the others") {
  const std::string meeting = unique_meeting();
  const auto start_with = [&meeting](int rank, const std::string& key) {
    return start({meeting, "RANK=" + std::to_string(rank), "WORLD_SIZE=2", "WEFT_JOB_KEY=" + key});
  };
  const auto zero = start_with(0, "right");
  const auto stranger = start_with(1, "wrong")->finish();
  CHECK(stranger.status == 1);
  CHECK(stranger.errors.find("job key") != std::string::npos);
  CHECK(start_with(1, "right")->finish().status == 0);
  const auto ended = zero->finish();
  CAPTURE(ended.errors);
  CHECK(ended.status == 0);
  CHECK(ended.errors.find("weft (rank 0): refused process ") == 0);
}

TEST_CASE("a rank of srun that is not told where to meet says what to set") {
  const auto ended = start(slurm_step(0))->finish();
  CHECK(ended.status == 1);
  CHECK(ended.errors.find("SLURM_NTASKS=\"3\" needs a place where the ranks meet: set WEFT_RENDEZVOUS") !=
        std::string::npos);
}
