// SPDX-License-Identifier: Apache-2.0
#include "smoke.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <system_error>

namespace weft::bench {
namespace {

struct case_on_record {
  const char* name;
  double messages;      ///< of one exchange
  double instructions;  ///< per message: g++ 12 -O3 on x86-64, under callgrind
};
// Lower them when they have become fewer; raise them only for something that is worth it.
constexpr std::array on_record{
    case_on_record{"buffers", 2, 10'000},
    case_on_record{"objects", 2, 12'200},
    case_on_record{"stream", 1, 10'600},
    case_on_record{"large", 2, 37'700},
};
// Other versions of the C and C++ libraries differ by a few in a hundred.
constexpr double leeway = 0.15;

constexpr bool is_comparable =
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && defined(NDEBUG) && defined(__OPTIMIZE__)
    true;
#else
    false;
#endif

constexpr int passed = 0;
constexpr int failed = 1;
constexpr int skipped = 77;
constexpr int not_found = 127;  // as shells have it

/// Of a whole run, the start of the program and of both engines among them. Nothing: there is no valgrind.
std::optional<double> instructions_of(const std::string& name, int exchanges) {
  const auto log = std::filesystem::temp_directory_path() / ("weft-bench-" + std::to_string(getpid()));
  const std::string program = std::filesystem::read_symlink("/proc/self/exe");
  const std::string count = std::to_string(exchanges);
  const std::string log_option = "--log-file=" + log.string();
  const pid_t child = fork();
  if (child < 0) throw std::system_error(errno, std::generic_category(), "starting valgrind");
  if (child == 0) {
    execlp("valgrind", "valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", log_option.c_str(),
           program.c_str(), "--smoke", name.c_str(), count.c_str(), nullptr);
    _exit(not_found);
  }
  int status = 0;
  if (waitpid(child, &status, 0) != child)
    throw std::system_error(errno, std::generic_category(), "waiting for valgrind");
  if (WIFEXITED(status) && WEXITSTATUS(status) == not_found) return std::nullopt;

  std::ifstream lines(log);
  std::optional<double> counted;
  for (std::string line, all; std::getline(lines, line); all += line + '\n') {
    constexpr std::string_view label = "Collected : ";
    if (const auto at = line.find(label); at != std::string::npos) counted = std::stod(line.substr(at + label.size()));
    if (lines.peek() == std::ifstream::traits_type::eof() && (status != 0 || !counted))
      throw std::runtime_error("callgrind has not counted " + name + ":\n" + all + line);
  }
  std::filesystem::remove(log);
  return counted;
}

/// What another exchange takes, once the first have brought everything into the state that lasts.
std::optional<double> instructions_per_message(const case_on_record& what) {
  constexpr int few = 500;
  constexpr int many = 2500;
  const auto start = instructions_of(what.name, few);
  if (!start) return std::nullopt;
  return (*instructions_of(what.name, many) - *start) / ((many - few) * what.messages);
}

}  // namespace

int run_smoke() {
  int status = is_comparable ? passed : skipped;
  std::puts("case      instructions per message   on record   difference");
  for (const case_on_record& each : on_record) {
    const auto counted = instructions_per_message(each);
    if (!counted) {
      std::puts("skipped: valgrind is not installed");
      return skipped;
    }
    const double difference = *counted / each.instructions - 1;
    const bool above = is_comparable && difference > leeway;
    if (above) status = failed;
    std::printf("%-8s  %24.0f  %10.0f  %+10.1f%%%s\n", each.name, *counted, each.instructions, 100 * difference,
                above ? "  above its leeway" : "");
  }
  if (!is_comparable) std::puts("skipped: the figures on record are those of g++ on x86-64 with optimization");
  return status;
}

}  // namespace weft::bench
