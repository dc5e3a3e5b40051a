// SPDX-License-Identifier: Apache-2.0
#include "device/choose_device.hpp"

#include "device/find_cuda_module.hpp"
#include "device/host/host_device.hpp"

#include <weft/engine/error.hpp>

#include <utility>

namespace weft::detail {
namespace {

/// The module, if it can use that GPU.
found_module find_usable(int ordinal) {
  found_module found = find_cuda_module();
  if (found.module == nullptr) return found;
  found.problem = found.module->problem(ordinal);
  if (!found.problem.empty()) found.module = nullptr;
  return found;
}

device_factory host_factory(const engine_options& options, const listening_options& listening,
                            const std::function<void(std::string)>& note) {
  const host_options how{
      .shared_memory = options.shared_memory, .set_up_timeout = options.set_up_timeout, .note = note};
  return [listening, how](boost::asio::io_context& context, device_events& events) {
    return std::make_unique<host_device>(context, events, listening, how);
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
  if (options.device == device_choice::host) return host_factory(options, listening, note);
  const found_module found = find_usable(options.device_ordinal);
  if (found.module != nullptr)
    return cuda_factory(*found.module, {.ordinal = options.device_ordinal,
                                        .device_bytes = options.device_pool_bytes,
                                        .pinned_bytes = options.staging_bytes});
  if (options.device == device_choice::cuda)
    throw error(errc::device_unavailable, found.problem + "; set device to host, or to automatic, to do without");
  note("the host device is used: " + found.problem);
  return host_factory(options, listening, note);
}

}  // namespace weft::detail
