// SPDX-License-Identifier: Apache-2.0
#include "device/choose_device.hpp"

#include "device/cuda_module.hpp"
#include "device/host/host_device.hpp"

#include <weft/engine/error.hpp>

#include <dlfcn.h>

#include <cstdlib>
#include <utility>

namespace weft::detail {
namespace {

constexpr const char* module_file = "libweft_cuda.so";

struct found_module {
  const cuda_module* module = nullptr;
  std::string problem;  ///< why there is none
};

std::string loader_error() {
  const char* text = ::dlerror();
  return text != nullptr ? text : "unknown reason";
}

/// The folder of this library, or of the program that it is a part of, with a slash; nothing if that is not known.
std::string own_folder() {
  Dl_info self{};
  if (::dladdr(reinterpret_cast<const void*>(&loader_error), &self) == 0) return {};
  const std::string path = self.dli_fname;
  return path.substr(0, path.rfind('/') + 1);
}

/// It stays loaded: what it has made may live as long as the process.
found_module load() {
  // A program may have it linked in.
  if (void* linked = ::dlsym(RTLD_DEFAULT, cuda_module_entry))
    return {reinterpret_cast<cuda_module_function>(linked)(), {}};
  const char* given = std::getenv("WEFT_CUDA_MODULE");
  void* handle = ::dlopen(given != nullptr ? given : (own_folder() + module_file).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr && given == nullptr) handle = ::dlopen(module_file, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return {nullptr, "weft's module for CUDA cannot be loaded: " + loader_error()};
  void* entry = ::dlsym(handle, cuda_module_entry);
  if (entry == nullptr) return {nullptr, loader_error()};
  return {reinterpret_cast<cuda_module_function>(entry)(), {}};
}

found_module find_module(int ordinal) {
  found_module found = load();
  if (found.module == nullptr) return found;
  if (found.module->version != cuda_module_version)
    return {nullptr, std::string(module_file) + " is of another version of weft"};
  found.problem = found.module->problem(ordinal);
  if (!found.problem.empty()) found.module = nullptr;
  return found;
}

device_factory host_factory(const engine_options& options, const listening_options& listening) {
  return [listening, timeout = options.set_up_timeout](boost::asio::io_context& context, device_events& events) {
    return std::make_unique<host_device>(context, events, listening, timeout);
  };
}

device_factory cuda_factory(const cuda_module& module, const cuda_options& how) {
  return [&module, how](boost::asio::io_context&, device_events& events) {
    try {
      return module.make(how, events);
    } catch (const boost::system::system_error& problem) {
      throw error(errc::device_unavailable, "device " + std::to_string(how.ordinal) + ": " + problem.what());
    }
  };
}

}  // namespace

device_factory choose_device(const engine_options& options, const listening_options& listening,
                             const std::function<void(std::string)>& note) {
  if (options.device == device_choice::host) return host_factory(options, listening);
  const found_module found = find_module(options.device_ordinal);
  if (found.module != nullptr)
    return cuda_factory(*found.module, {.ordinal = options.device_ordinal,
                                        .device_bytes = options.device_pool_bytes,
                                        .pinned_bytes = options.staging_bytes});
  if (options.device == device_choice::cuda)
    throw error(errc::device_unavailable, found.problem + "; set device to host, or to automatic");
  note("the host device is used: " + found.problem);
  return host_factory(options, listening);
}

}  // namespace weft::detail
