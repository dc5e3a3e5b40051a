// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <weft/engine/rendezvous.hpp>

#include <functional>
#include <memory>
#include <string>

namespace weft::detail {

/// As the public one; on rank 0 `report` is told at once of everyone who was refused.
[[nodiscard]] std::shared_ptr<rendezvous> make_socket_rendezvous(std::string address, std::string job_key,
                                                                 std::function<void(std::string)> report);

}  // namespace weft::detail
