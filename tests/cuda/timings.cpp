// SPDX-License-Identifier: Apache-2.0
// What one GPU can be asked to time. Each measurement is a process of its own: NCCL wants one thread for its calls, and
// the engine has a thread for them.
#include "durations.hpp"
#include "machine.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iostream>
#include <optional>
#include <string>
#include <string_view>

namespace weft::gpu {

double durations::quantile(double share) const {
  auto sorted = microseconds_;
  std::ranges::sort(sorted);
  const double last = std::ceil(share * static_cast<double>(sorted.size()));
  return sorted[std::max<std::size_t>(static_cast<std::size_t>(last), 1) - 1];
}

namespace {

constexpr auto usage = R"(usage: gpu_timings WHAT ROUNDS [BYTES]

WHAT is synchronize, host_function or poller: to know that a stream is done;
or nccl or engine: to send BYTES to oneself, and receive them.
)";

std::optional<std::size_t> number(std::string_view text) {
  std::size_t value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc{} || end != text.data() + text.size() || value == 0) return std::nullopt;
  return value;
}

std::optional<durations> measure(std::string_view what, std::size_t rounds, std::size_t bytes) {
  if (what == "synchronize") return waits_by_synchronize(rounds);
  if (what == "host_function") return waits_by_host_function(rounds);
  if (what == "poller") return waits_by_poller(rounds);
  if (what == "nccl" && bytes > 0) return exchanges_by_nccl({bytes, rounds});
  if (what == "engine" && bytes > 0) return exchanges_by_engine({bytes, rounds});
  return std::nullopt;
}

int complain(int status, const std::string& what) {
  std::cerr << "gpu_timings: " << what << '\n';
  return status;
}

int run(std::string_view what, std::size_t rounds, std::size_t bytes) {
  const auto on = switch_on();
  const auto taken = measure(what, rounds, bytes);
  if (!taken) return complain(bad_arguments, usage);
  if (const std::string wrong = on->complaints(); !wrong.empty()) return complain(failed, wrong);
  std::cout << "{\"what\":\"" << what << "\",\"bytes\":" << bytes << ",\"rounds\":" << taken->rounds()
            << ",\"median_us\":" << taken->quantile(0.5) << ",\"p99_us\":" << taken->quantile(0.99) << "}\n";
  return done;
}

}  // namespace
}  // namespace weft::gpu

int main(int argc, char** argv) {
  using namespace weft::gpu;
  const auto rounds = argc > 2 ? number(argv[2]) : std::nullopt;
  const auto bytes = argc > 3 ? number(argv[3]) : 0;
  if (argc > 4 || !rounds || !bytes) return complain(bad_arguments, usage);
  try {
    return run(argv[1], *rounds, *bytes);
  } catch (const no_gpu& problem) {
    return complain(without_gpu, problem.what());
  } catch (const std::exception& problem) {
    return complain(failed, problem.what());
  }
}
