# SPDX-License-Identifier: Apache-2.0
# Everything that weft takes from elsewhere; on Debian 12, tools/deps installs it.
find_package(Threads REQUIRED)
find_package(Boost 1.81 REQUIRED)
find_package(cereal REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(sodium REQUIRED IMPORTED_TARGET libsodium)
if(WEFT_TESTS)
  find_package(doctest REQUIRED)
endif()
