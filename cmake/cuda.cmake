# SPDX-License-Identifier: Apache-2.0
# Sets weft_has_cuda, and defines weft_cuda_headers where the headers of CUDA and NCCL are. CMake's own FindCUDAToolkit
# asks for nvcc as well, which nothing here needs.
set(weft_has_cuda FALSE)
if(WEFT_CUDA STREQUAL "off")
  message(STATUS "CUDA: left out, WEFT_CUDA is off")
  return()
endif()

foreach(header cuda_runtime_api.h nccl.h)
  string(MAKE_C_IDENTIFIER "WEFT_DIRECTORY_OF_${header}" variable)
  find_path(
    ${variable} ${header}
    HINTS ENV CUDA_HOME ENV CUDA_PATH
    PATHS /usr/local/cuda
    PATH_SUFFIXES include
    DOC "Where ${header} is")
  mark_as_advanced(${variable})
  if(NOT ${variable})
    if(WEFT_CUDA STREQUAL "on")
      message(FATAL_ERROR "WEFT_CUDA is on, but ${header} is not found: set ${variable} to its directory, or CUDA_HOME "
                          "in the environment to that of the toolkit")
    endif()
    message(STATUS "CUDA: left out, ${header} is not found")
    return()
  endif()
endforeach()

set(weft_has_cuda TRUE)
message(STATUS "CUDA: headers in ${WEFT_DIRECTORY_OF_cuda_runtime_api_h}, NCCL's in ${WEFT_DIRECTORY_OF_nccl_h}")
add_library(weft_cuda_headers INTERFACE)
target_include_directories(weft_cuda_headers SYSTEM INTERFACE ${WEFT_DIRECTORY_OF_cuda_runtime_api_h}
                                                              ${WEFT_DIRECTORY_OF_nccl_h})

# The libraries, for the module. Python's wheel of NCCL has no link without a version.
set(weft_has_cuda_libraries FALSE)
get_filename_component(weft_cuda_root ${WEFT_DIRECTORY_OF_cuda_runtime_api_h} DIRECTORY)
get_filename_component(weft_nccl_root ${WEFT_DIRECTORY_OF_nccl_h} DIRECTORY)
find_library(WEFT_CUDART NAMES cudart HINTS ${weft_cuda_root} PATH_SUFFIXES lib64 lib)
find_library(WEFT_NCCL NAMES nccl libnccl.so.2 HINTS ${weft_nccl_root} PATH_SUFFIXES lib64 lib)
mark_as_advanced(WEFT_CUDART WEFT_NCCL)
if(NOT WEFT_CUDART OR NOT WEFT_NCCL)
  message(STATUS "CUDA: the module is left out, libcudart or libnccl is not found")
  return()
endif()
set(weft_has_cuda_libraries TRUE)
add_library(weft_cuda_libraries INTERFACE)
target_link_libraries(weft_cuda_libraries INTERFACE ${WEFT_CUDART} ${WEFT_NCCL})
