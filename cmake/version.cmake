# SPDX-License-Identifier: Apache-2.0
# Sets weft_version from version.hpp, the one place that says it; meson.build reads it there, too.
set(version_header ${CMAKE_CURRENT_LIST_DIR}/../engine/include/weft/engine/version.hpp)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${version_header})
file(STRINGS ${version_header} version_lines REGEX "^inline constexpr int version_(major|minor|patch) = [0-9]+;$")
string(REGEX MATCHALL "[0-9]+" version_numbers "${version_lines}")
list(JOIN version_numbers "." weft_version)
