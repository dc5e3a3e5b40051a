// SPDX-License-Identifier: Apache-2.0
// Asks CUDA and NCCL, or the model of them, what they do: one probe for each process, because some end in a hang where
// they do not end well.
#include "probes.hpp"

#include "machine.hpp"

#include <algorithm>
#include <iostream>
#include <vector>

namespace weft::gpu {

std::string named(cudaError_t code) {
  return cudaGetErrorName(code);
}

std::string named(ncclResult_t code) {
  switch (code) {
    case ncclSuccess:
      return "ncclSuccess";
    case ncclUnhandledCudaError:
      return "ncclUnhandledCudaError";
    case ncclSystemError:
      return "ncclSystemError";
    case ncclInternalError:
      return "ncclInternalError";
    case ncclInvalidArgument:
      return "ncclInvalidArgument";
    case ncclInvalidUsage:
      return "ncclInvalidUsage";
    case ncclRemoteError:
      return "ncclRemoteError";
    case ncclInProgress:
      return "ncclInProgress";
    default:
      return "ncclResult_t " + std::to_string(static_cast<int>(code));
  }
}

std::string listed(std::initializer_list<std::string> answers) {
  std::string all;
  for (const std::string& each : answers) all += (all.empty() ? "" : ", ") + each;
  return all;
}

namespace {

std::vector<probe> all_probes() {
  std::vector<probe> all(cuda_probes().begin(), cuda_probes().end());
  all.insert(all.end(), nccl_probes().begin(), nccl_probes().end());
  return all;
}

int complain(int status, const std::string& what) {
  std::cerr << "gpu_probes: " << what << '\n';
  return status;
}

int ask(const probe& one) {
  try {
    const auto on = switch_on();
    std::cout << one.name << ": " << one.ask() << std::endl;
    std::cerr << on->complaints();  // probes break rules on purpose
    return done;
  } catch (const no_gpu& problem) {
    return complain(without_gpu, problem.what());
  } catch (const std::exception& problem) {
    return complain(failed, problem.what());
  }
}

}  // namespace
}  // namespace weft::gpu

int main(int argc, char** argv) {
  using namespace weft::gpu;
  const std::vector<probe> all = all_probes();
  const std::string_view word = argc == 2 ? argv[1] : "";
  const auto found = std::find_if(all.begin(), all.end(), [word](const probe& each) { return each.name == word; });
  if (found != all.end()) return ask(*found);
  if (word != "--list")
    return complain(bad_arguments, "expected --list, or the name of one probe, not '" + std::string(word) + "'");
  for (const probe& each : all) std::cout << each.name << '\n';
}
