// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

/// What the samples share: real input, and the sum by which its arrival is checked.
namespace samples {

/// FNV-1a.
inline std::uint64_t checksum(std::span<const char> bytes) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char byte : bytes) hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3U;
  return hash;
}

/// The bytes of a file; with no file, bytes of a simple generator.
inline std::vector<char> read_input(const std::string& path, std::size_t otherwise_bytes) {
  if (path.empty()) {
    std::vector<char> made(otherwise_bytes);
    std::uint32_t state = 1;
    for (char& byte : made) byte = static_cast<char>((state = state * 1664525U + 1013904223U) >> 24);
    return made;
  }
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot read " + path);
  std::vector<char> text{std::istreambuf_iterator<char>(file), {}};
  if (text.empty()) throw std::runtime_error(path + " is empty");
  return text;
}

/// `text` over and over, up to `bytes`.
inline std::vector<char> repeated(const std::vector<char>& text, std::size_t bytes) {
  std::vector<char> all;
  all.reserve(bytes);
  while (all.size() < bytes)
    all.insert(all.end(), text.begin(),
               text.begin() + static_cast<std::ptrdiff_t>(std::min(text.size(), bytes - all.size())));
  return all;
}

}  // namespace samples
