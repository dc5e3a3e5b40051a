// SPDX-License-Identifier: Apache-2.0
#include "arguments.hpp"
#include "rank_exit.hpp"
#include "supervisor.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <exception>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace {

using namespace weft::run;

constexpr int wrong_usage = 2;

/// A pipe must not get the number of a standard stream that the caller has closed.
void open_standard_streams() {
  for (int number = 0; number <= STDERR_FILENO;) {
    number = open("/dev/null", O_RDWR);
    if (number < 0) return;
    if (number > STDERR_FILENO) close(number);
  }
}

void print(std::FILE* target, std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), target);
}

int complain(const std::string& what, int status) {
  print(stderr, "weft-run: " + what + "\n");
  return status;
}

int run_job(job_options options) {
  try {
    return supervisor(std::move(options)).run();
  } catch (const start_error& error) {
    return complain(error.what(), error.status());
  } catch (const std::exception& error) {
    return complain(error.what(), 1);
  }
}

}  // namespace

int main(int argument_count, char** arguments) {
  open_standard_streams();
  parsed_arguments parsed = parse_arguments(std::vector<std::string_view>(arguments + 1, arguments + argument_count));
  if (const auto* error = std::get_if<usage_error>(&parsed))
    return complain(error->message + "\nTry weft-run --help.", wrong_usage);
  if (std::holds_alternative<help_request>(parsed)) {
    print(stdout, help_text());
  } else if (std::holds_alternative<version_request>(parsed)) {
    print(stdout, "weft-run " WEFT_VERSION "\n");
  } else {
    return run_job(std::get<job_options>(std::move(parsed)));
  }
  return std::fflush(stdout) == 0 ? 0 : 1;
}
