// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <boost/crc.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace serve {

/// Counts the words of a text that comes in pieces, cut anywhere. A word is a run of ASCII letters and digits, in
/// lower case; of a longer one, its first `longest_word` characters.
class tally {
 public:
  static constexpr std::size_t longest_word = 64;

  void add(std::string_view piece);
  /// The text is over, and with it its last word.
  void end();

  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }
  [[nodiscard]] std::uint64_t words() const noexcept { return words_; }
  /// CRC-32 of all bytes, as gzip and zlib compute it.
  [[nodiscard]] std::uint32_t checksum() const { return crc_.checksum(); }
  /// The most frequent words, at most `most`; of equal counts, in the order of the alphabet.
  [[nodiscard]] std::vector<std::pair<std::string, std::uint64_t>> most_frequent(std::size_t most) const;

 private:
  std::uint64_t bytes_ = 0;
  std::uint64_t words_ = 0;
  boost::crc_32_type crc_;
  std::string word_;  ///< the one that is not over
  std::unordered_map<std::string, std::uint64_t> counts_;
};

}  // namespace serve
