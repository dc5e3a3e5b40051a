// SPDX-License-Identifier: Apache-2.0
#include "environment.hpp"

#include <sodium.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <stdexcept>

namespace weft::run {
namespace {

std::string random_hex(std::size_t bytes) {
  if (sodium_init() < 0) throw std::runtime_error("libsodium finds no source of randomness on this machine");
  std::vector<unsigned char> random(bytes);
  randombytes_buf(random.data(), random.size());
  // sodium_bin2hex writes a terminator too.
  std::string text(2 * bytes + 1, '\0');
  sodium_bin2hex(text.data(), text.size(), random.data(), random.size());
  text.pop_back();
  return text;
}

std::string_view name_of(std::string_view variable) {
  return variable.substr(0, variable.find('='));
}

}  // namespace

std::vector<std::string> rank_environment(const std::vector<std::string>& inherited, const job_settings& job,
                                          int rank) {
  std::vector<std::string> own{
      "RANK=" + std::to_string(rank),
      "WORLD_SIZE=" + std::to_string(job.world_size),
      "WEFT_LOCAL_RANK=" + std::to_string(rank),
      "WEFT_RENDEZVOUS=" + job.rendezvous,
      "WEFT_JOB_KEY=" + job.job_key,
  };
  if (job.tcp) own.emplace_back("WEFT_TRANSPORT=tcp");
  std::vector<std::string> all = own;
  std::copy_if(inherited.begin(), inherited.end(), std::back_inserter(all), [&own](const std::string& variable) {
    return std::none_of(own.begin(), own.end(),
                        [&](const std::string& mine) { return name_of(mine) == name_of(variable); });
  });
  return all;
}

std::string fresh_rendezvous() {
  return "unix:weft-" + std::to_string(getpid()) + "-" + random_hex(8);
}

std::string fresh_job_key() {
  return random_hex(32);
}

}  // namespace weft::run
