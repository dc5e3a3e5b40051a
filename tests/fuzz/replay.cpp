// SPDX-License-Identifier: Apache-2.0
// Gives files to a target, for compilers without libFuzzer: fuzz_NAME [-OPTION...] FILE|FOLDER...
#include "fuzz_target.hpp"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

namespace {

namespace fs = std::filesystem;

void replay(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(in), {}};
  // Of its exact size, so that sanitizers see what reads on beyond its end.
  const std::vector<std::uint8_t> input(bytes.begin(), bytes.end());
  std::fprintf(stderr, "%s\n", file.c_str());  // the last one named is the one that ends the program
  (void)LLVMFuzzerTestOneInput(input.data(), input.size());
}

}  // namespace

int main(int argc, char** argv) {
  std::size_t replayed = 0;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument.starts_with('-')) continue;  // libFuzzer's
    if (!fs::exists(argument)) {
      std::fprintf(stderr, "there is no \"%s\"; give files, or folders of files\n", argv[i]);
      return 2;
    }
    if (!fs::is_directory(argument)) {
      replay(argument);
      ++replayed;
      continue;
    }
    for (const auto& entry : fs::directory_iterator(argument)) {
      replay(entry.path());
      ++replayed;
    }
  }
  std::printf("%zu inputs\n", replayed);
  return replayed == 0 ? 2 : 0;
}
