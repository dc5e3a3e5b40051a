# SPDX-License-Identifier: Apache-2.0
# How every target of this tree is compiled, installed and tested.
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

# libFuzzer is guided by what of the libraries and of its targets an input reaches.
add_library(weft_fuzz_flags INTERFACE)
if(WEFT_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    message(FATAL_ERROR "WEFT_FUZZ needs clang, and the compiler is ${CMAKE_CXX_COMPILER}: set CMAKE_CXX_COMPILER, or "
                        "take the preset fuzz")
  endif()
  target_compile_options(weft_fuzz_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()

# A library that others link, also into shared libraries of their own. Static and shared libraries are compiled alike, and
# -fno-semantic-interposition keeps calls within a library as cheap as without position-independent code.
function(weft_install_library name)
  target_compile_options(${name} PRIVATE -fno-semantic-interposition)
  target_link_libraries(${name} PRIVATE $<BUILD_INTERFACE:weft_fuzz_flags>)
  set_target_properties(
    ${name} PROPERTIES POSITION_INDEPENDENT_CODE ON DEFINE_SYMBOL "" VERSION ${PROJECT_VERSION} SOVERSION 0
                       INSTALL_RPATH $ORIGIN)
  install(TARGETS ${name})
endfunction()

# Installs the calling component's public headers: all of its folder include.
function(weft_install_headers)
  install(DIRECTORY include/ TYPE INCLUDE COMPONENT headers)
endfunction()

# What ThreadSanitizer is to pass over is told by the names of functions, which clang's does not find out by itself.
find_program(WEFT_SYMBOLIZER llvm-symbolizer)
mark_as_advanced(WEFT_SYMBOLIZER)
set(weft_tsan_options suppressions=${PROJECT_SOURCE_DIR}/tests/support/tsan.supp)
if(WEFT_SYMBOLIZER)
  string(APPEND weft_tsan_options :external_symbolizer_path=${WEFT_SYMBOLIZER})
endif()

# weft_add_unit_test(NAME SOURCES... LIBRARIES... ARGUMENTS...): a doctest program, one process for the whole file.
function(weft_add_unit_test name)
  cmake_parse_arguments(PARSE_ARGV 1 test "" "" "SOURCES;LIBRARIES;ARGUMENTS")
  add_executable(${name} ${test_SOURCES})
  target_link_libraries(${name} PRIVATE ${test_LIBRARIES} weft_test_main weft_build_flags)
  add_test(NAME ${name} COMMAND ${name} ${test_ARGUMENTS})
  set_tests_properties(${name} PROPERTIES TIMEOUT 300 ENVIRONMENT "TSAN_OPTIONS=${weft_tsan_options}")
endfunction()

# weft_add_output_test(NAME TIMEOUT EXPECTED COMMAND...): the command must succeed and print what EXPECTED matches.
function(weft_add_output_test name timeout expected)
  add_test(NAME ${name} COMMAND ${PROJECT_SOURCE_DIR}/tests/support/expect_output ${expected} ${ARGN})
  set_tests_properties(${name} PROPERTIES TIMEOUT ${timeout})
endfunction()
