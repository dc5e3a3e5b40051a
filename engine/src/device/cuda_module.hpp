// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "device/device.hpp"

#include <weft/engine/version.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

/// The seam between weft and its module for CUDA, which is loaded on demand: so that one program runs on machines with
/// and without CUDA. Without CUDA's headers, and without Asio, of which there must be one copy in a process.
namespace weft::detail {

struct cuda_options {
  int ordinal = 0;               ///< of the device, as CUDA counts them
  std::size_t device_bytes = 0;  ///< for `device_buffer`s, and to put messages together
  std::size_t pinned_bytes = 0;  ///< for host memory on its way
};

struct cuda_module {
  /// Both sides are built from one source.
  std::uint32_t version;
  /// Why the device cannot be used, in CUDA's words; empty if it can.
  std::string (*problem)(int ordinal);
  /// Throws `boost::system::system_error` that names the call which CUDA refused.
  std::unique_ptr<device> (*make)(const cuda_options& options, device_events& events);
};

inline constexpr std::uint32_t cuda_module_version = version_major << 16 | version_minor << 8 | version_patch;

/// The one function that the module exports, by this name and of this type.
inline constexpr const char* cuda_module_entry = "weft_cuda_module";
using cuda_module_function = const cuda_module* (*)();

}  // namespace weft::detail
