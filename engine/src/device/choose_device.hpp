// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "device/device.hpp"
#include "link/listening_point.hpp"

#include <weft/engine/options.hpp>

#include <boost/asio/io_context.hpp>

#include <functional>
#include <memory>
#include <string>

namespace weft::detail {

/// Makes a rank's device. The context is the launch thread's.
using device_factory = std::function<std::unique_ptr<device>(boost::asio::io_context&, device_events&)>;

/// As `engine_options::device` says. `note` is told why `automatic` does not take a GPU, and from the launch thread
/// where the device does without what it would use. Throws `weft::error` where what was asked for is not there.
[[nodiscard]] device_factory choose_device(const engine_options& options, const listening_options& listening,
                                           const std::function<void(std::string)>& note);

}  // namespace weft::detail
