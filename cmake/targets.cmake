# SPDX-License-Identifier: Apache-2.0
# How every target of this tree is compiled, and how tests are declared.
if(PROJECT_IS_TOP_LEVEL AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  find_program(WEFT_CCACHE ccache)
  if(WEFT_CCACHE)
    set(CMAKE_CXX_COMPILER_LAUNCHER ${WEFT_CCACHE})
  endif()
endif()

add_library(weft_build_flags INTERFACE)
target_compile_features(weft_build_flags INTERFACE cxx_std_20)
target_compile_options(weft_build_flags INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion
                       # False in g++ 12 for "literal" + std::string(...) at -O3 (GCC bug 105651).
                       $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>
                       $<$<BOOL:${WEFT_WARNINGS_AS_ERRORS}>:-Werror>)
# Instrumented code makes g++ 12 warn of what is not there: the other builds are the ones where warnings are errors.
if(WEFT_SANITIZE)
  target_compile_options(weft_build_flags INTERFACE -fsanitize=${WEFT_SANITIZE} -fno-omit-frame-pointer
                         -fno-sanitize-recover=all)
  target_link_options(weft_build_flags INTERFACE -fsanitize=${WEFT_SANITIZE})
  if(WEFT_SANITIZE STREQUAL "thread" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # Asio uses fences, which ThreadSanitizer does not model: tests/support/tsan.supp.
    target_compile_options(weft_build_flags INTERFACE -Wno-tsan)
  endif()
endif()

# weft_add_unit_test(NAME SOURCES... LIBRARIES...): a doctest program, one process for the whole file.
function(weft_add_unit_test name)
  cmake_parse_arguments(PARSE_ARGV 1 test "" "" "SOURCES;LIBRARIES")
  add_executable(${name} ${test_SOURCES})
  target_link_libraries(${name} PRIVATE ${test_LIBRARIES} weft_test_main weft_build_flags)
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES TIMEOUT 300 ENVIRONMENT
                       "TSAN_OPTIONS=suppressions=${PROJECT_SOURCE_DIR}/tests/support/tsan.supp")
endfunction()
