# SPDX-License-Identifier: Apache-2.0
# Sets weft_has_cuda, and defines weft_cuda_headers where the headers of CUDA and NCCL are. CMake's own FindCUDAToolkit
# asks for nvcc as well, which nothing here needs.
set(weft_has_cuda FALSE)
if(WEFT_CUDA STREQUAL "off")
  message(STATUS "CUDA: left out, WEFT_CUDA is off")
  return()
endif()

# Python's wheels have them, as site-packages/nvidia/nccl for instance. Nobody looks there by himself: which Python is
# meant, and whether its CUDA is the one to build with, only the user knows.
set(WEFT_CUDART_ROOT "" CACHE PATH "The folder that has include and lib of the CUDA runtime, where it is not the usual one")
set(WEFT_NCCL_ROOT "" CACHE PATH "The folder that has include and lib of NCCL, where it is not the usual one")
set(weft_root_of_cuda_runtime_api.h WEFT_CUDART_ROOT)
set(weft_root_of_nccl.h WEFT_NCCL_ROOT)

foreach(header cuda_runtime_api.h nccl.h)
  string(MAKE_C_IDENTIFIER "WEFT_DIRECTORY_OF_${header}" variable)
  set(root ${weft_root_of_${header}})
  if(${root})
    # Not the one that was found before it was given, nor any other.
    unset(${variable} CACHE)
    find_path(${variable} ${header} PATHS ${${root}} PATH_SUFFIXES include NO_DEFAULT_PATH)
  else()
    find_path(
      ${variable} ${header}
      HINTS ENV CUDA_HOME ENV CUDA_PATH
      PATHS /usr/local/cuda
      PATH_SUFFIXES include
      DOC "Where ${header} is")
  endif()
  mark_as_advanced(${variable})
  if(NOT ${variable})
    if(WEFT_CUDA STREQUAL "on" OR ${root})
      message(FATAL_ERROR "${header} is not found, and WEFT_CUDA is ${WEFT_CUDA}, ${root} is \"${${root}}\": set "
                          "${root} to the folder whose include has it, or CUDA_HOME in the environment to that of the "
                          "toolkit, or WEFT_CUDA to off")
    endif()
    message(STATUS "CUDA: left out, ${header} is not found; ${root} may name the folder whose include has it")
    return()
  endif()
endforeach()

set(weft_has_cuda TRUE)
message(STATUS "CUDA: headers in ${WEFT_DIRECTORY_OF_cuda_runtime_api_h}, NCCL's in ${WEFT_DIRECTORY_OF_nccl_h}")
add_library(weft_cuda_headers INTERFACE)
# NCCL's first: a toolkit may have another one.
target_include_directories(weft_cuda_headers SYSTEM INTERFACE ${WEFT_DIRECTORY_OF_nccl_h}
                                                              ${WEFT_DIRECTORY_OF_cuda_runtime_api_h})

# The libraries, for the module, beside the headers if they are there. Python's wheels have no links without a version.
set(weft_has_cuda_libraries FALSE)
get_filename_component(weft_cuda_root ${WEFT_DIRECTORY_OF_cuda_runtime_api_h} DIRECTORY)
get_filename_component(weft_nccl_root ${WEFT_DIRECTORY_OF_nccl_h} DIRECTORY)
if(WEFT_CUDART_ROOT)
  unset(WEFT_CUDART CACHE)
endif()
if(WEFT_NCCL_ROOT)
  unset(WEFT_NCCL CACHE)
endif()
find_library(WEFT_CUDART NAMES cudart libcudart.so.13 libcudart.so.12 NAMES_PER_DIR HINTS ${weft_cuda_root}
             PATH_SUFFIXES lib64 lib)
find_library(WEFT_NCCL NAMES nccl libnccl.so.2 NAMES_PER_DIR HINTS ${weft_nccl_root} PATH_SUFFIXES lib64 lib)
mark_as_advanced(WEFT_CUDART WEFT_NCCL)
if(NOT WEFT_CUDART OR NOT WEFT_NCCL)
  message(STATUS "CUDA: the module is left out, libcudart or libnccl is not found")
  return()
endif()
message(STATUS "CUDA: the module is built with ${WEFT_CUDART} and ${WEFT_NCCL}")
set(weft_has_cuda_libraries TRUE)
add_library(weft_cuda_libraries INTERFACE)
target_link_libraries(weft_cuda_libraries INTERFACE ${WEFT_CUDART} ${WEFT_NCCL})
