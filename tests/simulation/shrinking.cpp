// SPDX-License-Identifier: Apache-2.0
#include "shrinking.hpp"

#include <algorithm>
#include <cstddef>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace weft::simulation {
namespace {

/// Seeds of delays that are tried before something counts as needed: what a fault needs and what only moved it look
/// the same otherwise. With 25, the deliberate faults come down to between 1 and 18 messages.
constexpr std::uint32_t other_delays = 25;

/// Two messages that need each other can only go together; to try all pairs takes time, which few messages leave.
constexpr std::size_t most_for_pairs = 12;

class shrinker {
 public:
  explicit shrinker(const run_request& failing) : smallest_(failing), kind_(kind_of(run_once(failing))) {
    whole_ = make_program(
        failing.how.seed,
        {.ranks = failing.how.ranks, .messages = failing.how.messages, .with_unready = true, .with_heads = true});
  }

  run_request shrink() {
    do {
      has_shrunk_ = false;
      drop_features();
      drop_ranks();
      drop_messages();
      if (!has_shrunk_) drop_pairs();
    } while (has_shrunk_);
    return smallest_;
  }

 private:
  [[nodiscard]] std::vector<int> messages() const {
    std::vector<int> left;
    for (int i = 0; i < static_cast<int>(whole_.operations.size() / 2); ++i)
      if (!smallest_.without.messages.contains(i)) left.push_back(i);
    return left;
  }

  void drop_features() {
    for (const auto& [name, one] : features) {
      run_request smaller = smallest_;
      if (smaller.without.features.insert(one).second) take_if_failing(std::move(smaller));
    }
  }

  void drop_ranks() {
    for (int rank = 0; rank < whole_.ranks(); ++rank) {
      std::vector<int> of_rank = messages();
      std::erase_if(of_rank, [&](int message) {
        const auto send = static_cast<std::size_t>(2 * message);
        return whole_.operations[send].rank != rank && whole_.operations[send + 1].rank != rank;
      });
      drop(of_rank.begin(), of_rank.end());
    }
  }

  // Halves first, then smaller parts, down to one by one.
  void drop_messages() {
    std::vector<int> left = messages();
    for (std::size_t size = left.size() / 2; size > 0; size = size == 1 ? 0 : (size + 1) / 2)
      for (std::size_t begin = 0; begin < left.size();) {
        const auto first = left.begin() + static_cast<std::ptrdiff_t>(begin);
        const auto last = left.begin() + static_cast<std::ptrdiff_t>(std::min(begin + size, left.size()));
        if (drop(first, last))
          left.erase(first, last);
        else
          begin += size;
      }
  }

  void drop_pairs() {
    const std::vector<int> left = messages();
    if (left.size() > most_for_pairs) return;
    for (auto one = left.begin(); one != left.end(); ++one)
      for (auto other = one + 1; other != left.end(); ++other) {
        const std::vector<int> both{*one, *other};
        if (drop(both.begin(), both.end())) return;
      }
  }

  bool drop(std::vector<int>::const_iterator first, std::vector<int>::const_iterator last) {
    if (first == last) return false;
    run_request smaller = smallest_;
    smaller.without.messages.insert(first, last);
    return take_if_failing(std::move(smaller));
  }

  bool take_if_failing(run_request smaller) {
    for (std::uint32_t delays = 0; delays <= other_delays; ++delays) {
      if (delays > 0) smaller.how.delays = delays;
      if (kind_of(run_once(smaller)) != kind_) continue;
      smallest_ = std::move(smaller);
      return has_shrunk_ = true;
    }
    return false;
  }

  run_request smallest_;
  std::string kind_;
  program whole_;
  bool has_shrunk_ = false;
};

}  // namespace

run_request shrink(const run_request& failing) {
  return shrinker(failing).shrink();
}

}  // namespace weft::simulation
