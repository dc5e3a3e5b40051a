// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/cuda_result.hpp"

#include <boost/system/system_error.hpp>

namespace weft::detail {
namespace {

class nccl_errors final : public boost::system::error_category {
 public:
  [[nodiscard]] const char* name() const noexcept override { return "nccl"; }
  [[nodiscard]] std::string message(int value) const override {
    return ncclGetErrorString(static_cast<ncclResult_t>(value));
  }
};

}  // namespace

const boost::system::error_category& nccl_category() noexcept {
  static const nccl_errors category;
  return category;
}

void demand(cudaError_t result, const char* call) {
  if (result != cudaSuccess) throw boost::system::system_error(code_of(result), call);
}

std::string describe(const char* call, const boost::system::error_code& code) {
  return std::string(call) + ": " + code.message() + " (" + code.category().name() + ' ' +
         std::to_string(code.value()) + ')';
}

}  // namespace weft::detail
