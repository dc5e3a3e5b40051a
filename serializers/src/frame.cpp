// SPDX-License-Identifier: Apache-2.0
#include <weft/serializers/frame.hpp>

#include <string>

namespace weft::serializers::detail {

void fail_to_load(const reader& in, const std::exception& problem, std::string_view types) {
  in.fail(std::string("bytes that cannot be loaded (") + problem.what() + ")", "objects of type " + std::string(types));
}

}  // namespace weft::serializers::detail
