// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <weft/engine/rendezvous.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <string>

namespace weft::detail {

/// Ranks are started within seconds of each other, unless something is wrong.
inline constexpr std::chrono::milliseconds first_reminder{5'000};

/// As the public one. `report` is told of who is missing, after `remind_after` and then ever more rarely, and on rank 0
/// at once of everyone who was refused.
[[nodiscard]] std::shared_ptr<rendezvous> make_socket_rendezvous(
    std::string address, std::string job_key, std::function<void(std::string)> report,
    std::chrono::milliseconds remind_after = first_reminder);

}  // namespace weft::detail
