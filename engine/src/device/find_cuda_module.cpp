// SPDX-License-Identifier: Apache-2.0
#include "device/find_cuda_module.hpp"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <vector>

namespace weft::detail {
namespace {

namespace fs = std::filesystem;

constexpr const char* module_file = "libweft_cuda.so";
constexpr const char* module_variable = "WEFT_CUDA_MODULE";

std::string loader_error() {
  const char* text = ::dlerror();
  return text != nullptr ? text : "unknown reason";
}

/// The folder of this library, or of the program that it is a part of; empty if that is not known.
fs::path own_folder() {
  Dl_info self{};
  link_map* object = nullptr;
  const void* here = reinterpret_cast<const void*>(&loader_error);
  if (::dladdr1(here, &self, reinterpret_cast<void**>(&object), RTLD_DL_LINKMAP) == 0) return {};
  // The loader has no path of the program, only the word that it was called by.
  const bool is_program = object == nullptr || *object->l_name == '\0';
  std::error_code unknown;
  return is_program ? fs::read_symlink("/proc/self/exe", unknown).parent_path()
                    : fs::path(object->l_name).parent_path();
}

/// Those that go along when an installation is moved: beside this code, and where the libraries lie as seen from the
/// programs.
std::vector<fs::path> nearby_folders() {
  const fs::path own = own_folder();
  if (own.empty()) return {};
  return {own, (own / WEFT_LIB_FROM_BIN).lexically_normal()};
}

found_module cannot_load() {
  return {nullptr, "weft's module for CUDA cannot be loaded: " + loader_error()};
}

found_module ask(void* entry) {
  if (entry == nullptr) return cannot_load();
  const cuda_module* module = reinterpret_cast<cuda_module_function>(entry)();
  if (module->version == cuda_module_version) return {module, {}};
  return {nullptr, std::string(module_file) + " is of another version of weft: use the one of the same build, which " +
                       module_variable + " may name"};
}

found_module load(const std::string& path) {
  if (void* handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) return ask(::dlsym(handle, cuda_module_entry));
  return cannot_load();
}

std::string not_found(const std::vector<fs::path>& searched, const std::string& loader) {
  std::string places;
  for (const fs::path& folder : searched) places += folder.string() + ", ";
  return "weft's module for CUDA, " + std::string(module_file) + ", is not in " + places +
         "nor where the system's loader looks (" + loader + "): set " + module_variable +
         " to its path, or install it in one of these folders";
}

bool has_module(const fs::path& folder) {
  std::error_code unknown;
  return fs::exists(folder / module_file, unknown);
}

// One that is there and cannot be loaded is the one that was meant: what is wrong with it matters more than the next.
found_module search() {
  std::vector<fs::path> searched = nearby_folders();
  for (const fs::path& folder : searched)
    if (has_module(folder)) return load(folder / module_file);
  if (void* handle = ::dlopen(module_file, RTLD_NOW | RTLD_LOCAL)) return ask(::dlsym(handle, cuda_module_entry));
  const std::string loader = loader_error();
  // For programs elsewhere that have this code linked in.
  const fs::path installed = WEFT_LIBDIR;
  if (has_module(installed)) return load(installed / module_file);
  if (std::find(searched.begin(), searched.end(), installed) == searched.end()) searched.push_back(installed);
  return {nullptr, not_found(searched, loader)};
}

}  // namespace

found_module find_cuda_module() {
  // A program may have it linked in.
  if (void* linked = ::dlsym(RTLD_DEFAULT, cuda_module_entry)) return ask(linked);
  const char* given = std::getenv(module_variable);
  if (given == nullptr || *given == '\0') return search();
  found_module found = load(given);
  if (found.module == nullptr)
    found.problem += "; " + std::string(module_variable) + "=\"" + given + "\" must be the path of " + module_file +
                     ", or unset for a search";
  return found;
}

}  // namespace weft::detail
