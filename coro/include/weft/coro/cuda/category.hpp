// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <boost/system/error_code.hpp>

#include <cuda_runtime_api.h>

#include <string>

/// Awaiting what a GPU does, in any coroutine. These headers need those of CUDA, and programs that use them its
/// runtime.
namespace weft::coro::cuda {
namespace detail {

class category final : public boost::system::error_category {
 public:
  [[nodiscard]] const char* name() const noexcept override { return "cuda"; }
  [[nodiscard]] std::string message(int code) const override {
    const auto error = static_cast<cudaError_t>(code);
    return std::string(cudaGetErrorName(error)) + ": " + cudaGetErrorString(error);
  }
};

}  // namespace detail

/// The category of the CUDA runtime's codes.
inline const boost::system::error_category& error_category() noexcept {
  static const detail::category instance;
  return instance;
}

/// `code` as an error code; cudaSuccess is none.
inline boost::system::error_code make_error_code(cudaError_t code) noexcept {
  return {static_cast<int>(code), error_category()};
}

}  // namespace weft::coro::cuda
