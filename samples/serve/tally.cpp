// SPDX-License-Identifier: Apache-2.0
#include "tally.hpp"

#include <algorithm>

namespace serve {
namespace {

/// In lower case; 0 where it belongs to no word. Independent of the locale.
char letter(char from) {
  if ((from >= 'a' && from <= 'z') || (from >= '0' && from <= '9')) return from;
  return from >= 'A' && from <= 'Z' ? static_cast<char>(from - 'A' + 'a') : char{0};
}

}  // namespace

void tally::add(std::string_view piece) {
  crc_.process_bytes(piece.data(), piece.size());
  bytes_ += piece.size();
  for (const char each : piece) {
    const char known = letter(each);
    if (known == 0)
      end();
    else if (word_.size() < longest_word)
      word_.push_back(known);
  }
}

void tally::end() {
  if (word_.empty()) return;
  ++words_;
  ++counts_[word_];
  word_.clear();
}

std::vector<std::pair<std::string, std::uint64_t>> tally::most_frequent(std::size_t most) const {
  std::vector<std::pair<std::string, std::uint64_t>> all(counts_.begin(), counts_.end());
  const auto end = all.begin() + static_cast<std::ptrdiff_t>(std::min(most, all.size()));
  std::partial_sort(all.begin(), end, all.end(), [](const auto& a, const auto& b) {
    return a.second != b.second ? a.second > b.second : a.first < b.first;
  });
  all.erase(end, all.end());
  return all;
}

}  // namespace serve
