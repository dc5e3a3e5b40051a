// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <weft/coro/cuda/category.hpp>

#include <boost/system/error_category.hpp>
#include <boost/system/error_code.hpp>

#include <cuda_runtime_api.h>
#include <nccl.h>

#include <string>

namespace weft::detail {

/// The category of `ncclResult_t`, named "nccl".
[[nodiscard]] const boost::system::error_category& nccl_category() noexcept;

[[nodiscard]] inline boost::system::error_code code_of(cudaError_t result) noexcept {
  return coro::cuda::make_error_code(result);
}
[[nodiscard]] inline boost::system::error_code code_of(ncclResult_t result) noexcept {
  return {static_cast<int>(result), nccl_category()};
}

/// Throws `boost::system::system_error` that names the call, unless it has succeeded.
void demand(cudaError_t result, const char* call);

/// "ncclGroupEnd: unhandled cuda error (nccl 1)".
[[nodiscard]] std::string describe(const char* call, const boost::system::error_code& code);

}  // namespace weft::detail
