// SPDX-License-Identifier: Apache-2.0
#include "environment.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

namespace {

using namespace weft::run;
using variables = std::vector<std::string>;

bool has(const variables& all, const std::string& variable) {
  return std::count(all.begin(), all.end(), variable) == 1;
}

const job_settings job{.world_size = 4, .rendezvous = "unix:here", .job_key = "secret", .tcp = false};

TEST_CASE("a rank's environment is the inherited one and the rank's place in the job") {
  const variables all = rank_environment({"HOME=/home", "EMPTY=", "EQUALS=a=b"}, job, 2);
  for (const char* expected : {"HOME=/home", "EMPTY=", "EQUALS=a=b", "RANK=2", "WORLD_SIZE=4", "WEFT_LOCAL_RANK=2",
                               "WEFT_RENDEZVOUS=unix:here", "WEFT_JOB_KEY=secret"}) {
    CAPTURE(expected);
    CHECK(has(all, expected));
  }
  CHECK(all.size() == 8);
}

TEST_CASE("variables of an outer job are replaced, and those with similar names stay") {
  const variables all =
      rank_environment({"RANK=7", "WEFT_RENDEZVOUS=outer", "RANK_OF=7", "WEFT_TRANSPORT=unix"}, job, 0);
  CHECK(has(all, "RANK=0"));
  CHECK(has(all, "RANK_OF=7"));
  CHECK(has(all, "WEFT_TRANSPORT=unix"));
  CHECK_FALSE(has(all, "RANK=7"));
  CHECK_FALSE(has(all, "WEFT_RENDEZVOUS=outer"));
}

TEST_CASE("a job over TCP says so, whatever was inherited") {
  job_settings over_tcp = job;
  over_tcp.tcp = true;
  const variables all = rank_environment({"WEFT_TRANSPORT=unix"}, over_tcp, 0);
  CHECK(has(all, "WEFT_TRANSPORT=tcp"));
  CHECK_FALSE(has(all, "WEFT_TRANSPORT=unix"));
}

TEST_CASE("meeting points name this process and do not repeat, and neither do keys") {
  CHECK(fresh_rendezvous().starts_with("unix:weft-" + std::to_string(getpid()) + "-"));
  CHECK(fresh_rendezvous() != fresh_rendezvous());
  CHECK(fresh_job_key().size() == 64);
  CHECK(fresh_job_key().find_first_not_of("0123456789abcdef") == std::string::npos);
  CHECK(fresh_job_key() != fresh_job_key());
}

}  // namespace
