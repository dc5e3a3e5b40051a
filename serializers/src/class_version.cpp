// SPDX-License-Identifier: Apache-2.0
#include <weft/serializers/class_version.hpp>

#include <cereal/details/util.hpp>

#include <string>

namespace weft::serializers {

void check_version(const known_class& one, std::uint32_t version, const reader& in) {
  const std::uint32_t newest = one.newest();
  if (version <= newest || one.accepts_newer) return;
  in.fail("version " + std::to_string(version) + " of " + cereal::util::demangle(one.type->name()),
          "at most version " + std::to_string(newest) +
              ", the newest that is known here; bring this program up to date, or let the sender write the older "
              "version");
}

}  // namespace weft::serializers
