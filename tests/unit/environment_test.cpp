// SPDX-License-Identifier: Apache-2.0
#include <weft/engine/error.hpp>
#include <weft/engine/options.hpp>

#include <doctest/doctest.h>

#include <map>
#include <string>
#include <vector>

namespace {

using variables = std::map<std::string, std::string>;

weft::engine_options read(const variables& set) {
  return weft::options_from_environment([&](const char* name) -> const char* {
    const auto found = set.find(name);
    return found == set.end() ? nullptr : found->second.c_str();
  });
}

/// The refusal must contain all of `parts`.
void check_refused(const variables& set, const std::vector<std::string>& parts) {
  std::string text;
  try {
    (void)read(set);
  } catch (const weft::error& problem) {
    CHECK(problem.code() == weft::errc::bad_environment);
    text = problem.what();
  }
  for (const std::string& part : parts) CHECK_MESSAGE(text.find(part) != std::string::npos, part << " in " << text);
}

}  // namespace

TEST_CASE("an empty environment is a group of one") {
  const auto options = read({});
  CHECK(options.rank == 0);
  CHECK(options.world_size == 1);
  CHECK(options.rendezvous_address.empty());
  CHECK(options.job_key.empty());
  CHECK(options.transport == weft::transport::automatic);
}

TEST_CASE("the variables of weft-run are read") {
  const auto options = read({{"RANK", "2"},
                             {"WORLD_SIZE", "4"},
                             {"WEFT_RENDEZVOUS", "unix:job-1"},
                             {"WEFT_JOB_KEY", "secret"},
                             {"WEFT_TRANSPORT", "unix"},
                             {"MASTER_ADDR", "unused"}});
  CHECK(options.rank == 2);
  CHECK(options.world_size == 4);
  CHECK(options.rendezvous_address == "unix:job-1");
  CHECK(options.job_key == "secret");
  CHECK(options.transport == weft::transport::unix_socket);
  CHECK(read({{"WEFT_TRANSPORT", "tcp"}}).transport == weft::transport::tcp);
  CHECK(read({{"WEFT_TRANSPORT", "automatic"}}).transport == weft::transport::automatic);
}

TEST_CASE("under torchrun the ranks meet beside its store") {
  const variables torchrun{{"RANK", "1"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "node7"}, {"MASTER_PORT", "29500"}};
  CHECK(read(torchrun).rendezvous_address == "node7:29501");
  variables v6 = torchrun;
  v6["MASTER_ADDR"] = "fe80::1";
  CHECK(read(v6).rendezvous_address == "[fe80::1]:29501");
  variables last_port = torchrun;
  last_port["MASTER_PORT"] = "65535";
  check_refused(last_port, {"MASTER_PORT=\"65535\"", "65534"});
  variables half = torchrun;
  half.erase("MASTER_PORT");
  check_refused(half, {"MASTER_ADDR is set", "MASTER_PORT"});
}

TEST_CASE("Open MPI and Slurm are understood") {
  const auto open_mpi =
      read({{"OMPI_COMM_WORLD_RANK", "3"}, {"OMPI_COMM_WORLD_SIZE", "5"}, {"WEFT_RENDEZVOUS", "localhost:1"}});
  CHECK(open_mpi.rank == 3);
  CHECK(open_mpi.world_size == 5);
  const auto slurm = read({{"SLURM_PROCID", "1"}, {"SLURM_NTASKS", "2"}, {"WEFT_RENDEZVOUS", "localhost:1"}});
  CHECK(slurm.rank == 1);
  CHECK(slurm.world_size == 2);
}

TEST_CASE("Slurm counts only for processes that it started as tasks and no other launcher numbered") {
  CHECK(read({{"SLURM_NTASKS", "8"}}).world_size == 1);
  const auto nested = read({{"SLURM_PROCID", "1"},
                            {"SLURM_NTASKS", "2"},
                            {"RANK", "9"},
                            {"WORLD_SIZE", "16"},
                            {"WEFT_RENDEZVOUS", "localhost:1"}});
  CHECK(nested.rank == 9);
  CHECK(nested.world_size == 16);
}

TEST_CASE("launchers that contradict each other are both named") {
  const variables agree{{"RANK", "1"},
                        {"WORLD_SIZE", "4"},
                        {"OMPI_COMM_WORLD_RANK", "1"},
                        {"OMPI_COMM_WORLD_SIZE", "4"},
                        {"WEFT_RENDEZVOUS", "localhost:1"}};
  CHECK(read(agree).rank == 1);
  variables rank = agree;
  rank["OMPI_COMM_WORLD_RANK"] = "2";
  check_refused(rank, {"RANK=\"1\"", "OMPI_COMM_WORLD_RANK=\"2\""});
  variables size = agree;
  size["OMPI_COMM_WORLD_SIZE"] = "3";
  check_refused(size, {"WORLD_SIZE=\"4\"", "OMPI_COMM_WORLD_SIZE=\"3\""});
}

TEST_CASE("half a description of a rank is refused") {
  check_refused({{"RANK", "1"}}, {"RANK=\"1\"", "WORLD_SIZE is not"});
  check_refused({{"WORLD_SIZE", "4"}}, {"WORLD_SIZE=\"4\"", "RANK is not"});
  check_refused({{"OMPI_COMM_WORLD_RANK", "0"}}, {"OMPI_COMM_WORLD_SIZE"});
  check_refused({{"SLURM_PROCID", "0"}}, {"SLURM_NTASKS"});
}

TEST_CASE("a number that is none, or cannot be, is refused with its value") {
  for (const char* bad : {"", "x", "-1", "1x", " 1", "99999999999"})
    check_refused({{"RANK", bad}, {"WORLD_SIZE", "4"}}, {"RANK=\"" + std::string(bad) + "\"", "from 0"});
  check_refused({{"RANK", "0"}, {"WORLD_SIZE", "0"}}, {"WORLD_SIZE=\"0\"", "from 1"});
  check_refused({{"RANK", "4"}, {"WORLD_SIZE", "4"}}, {"RANK=\"4\"", "WORLD_SIZE=\"4\""});
}

TEST_CASE("several ranks need a place to meet") {
  check_refused({{"RANK", "0"}, {"WORLD_SIZE", "2"}}, {"WEFT_RENDEZVOUS", "WORLD_SIZE=\"2\""});
  check_refused({{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"WEFT_RENDEZVOUS", "nowhere"}}, {"WEFT_RENDEZVOUS=\"nowhere\""});
  check_refused({{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"WEFT_RENDEZVOUS", "host:0"}}, {"port must not be 0"});
  CHECK(read({{"RANK", "0"}, {"WORLD_SIZE", "1"}}).rendezvous_address.empty());
}

TEST_CASE("an unknown transport is refused") {
  check_refused({{"WEFT_TRANSPORT", "pigeon"}}, {"WEFT_TRANSPORT=\"pigeon\"", "automatic, unix or tcp"});
}

TEST_CASE("the number of the GPU is read from the first variable that has one, unless the device is the host's") {
  CHECK(read({}).device_ordinal == 0);
  CHECK(read({{"LOCAL_RANK", "3"}}).device_ordinal == 3);
  CHECK(read({{"LOCAL_RANK", "3"}, {"WEFT_DEVICE_ORDINAL", "1"}}).device_ordinal == 1);
  CHECK(read({{"LOCAL_RANK", "3"}, {"WEFT_LOCAL_RANK", "2"}}).device_ordinal == 2);
  CHECK(read({{"WEFT_LOCAL_RANK", "2"}, {"WEFT_DEVICE_ORDINAL", "1"}}).device_ordinal == 1);
  CHECK(read({{"OMPI_COMM_WORLD_LOCAL_RANK", "2"}}).device_ordinal == 2);
  CHECK(read({{"SLURM_LOCALID", "4"}, {"WEFT_DEVICE", "cuda"}}).device_ordinal == 4);
  CHECK(read({{"LOCAL_RANK", "abc"}, {"WEFT_DEVICE", "host"}}).device == weft::device_choice::host);
  for (const char* device : {"automatic", "cuda"})
    check_refused({{"LOCAL_RANK", "abc"}, {"WEFT_DEVICE", device}},
                  {"LOCAL_RANK=\"abc\"", "from 0 to 1000", "which GPU", "WEFT_DEVICE=host"});
}

TEST_CASE("an unknown device is refused") {
  check_refused({{"WEFT_DEVICE", "tpu"}}, {"WEFT_DEVICE=\"tpu\"", "automatic, host or cuda"});
}

TEST_CASE("a variable of weft's own that is empty counts as unset") {
  const auto options = read({{"WEFT_RENDEZVOUS", ""},
                             {"WEFT_JOB_KEY", ""},
                             {"WEFT_TRANSPORT", ""},
                             {"WEFT_DEVICE", ""},
                             {"WEFT_DEVICE_ORDINAL", ""},
                             {"WEFT_LOCAL_RANK", ""},
                             {"LOCAL_RANK", "3"}});
  CHECK(options.rendezvous_address.empty());
  CHECK(options.job_key.empty());
  CHECK(options.transport == weft::transport::automatic);
  CHECK(options.device == weft::device_choice::automatic);
  CHECK(options.device_ordinal == 3);
  check_refused({{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"WEFT_RENDEZVOUS", ""}}, {"set WEFT_RENDEZVOUS to host:port"});
}

TEST_CASE("the job key is in no message") {
  try {
    (void)read({{"WEFT_JOB_KEY", "hunter2"}, {"RANK", "1"}});
    FAIL("half a description was accepted");
  } catch (const weft::error& problem) {
    CHECK(std::string(problem.what()).find("hunter2") == std::string::npos);
  }
}
