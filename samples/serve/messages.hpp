// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <weft/serializers/cereal.hpp>

#include <cereal/types/string.hpp>
#include <cereal/types/utility.hpp>
#include <cereal/types/vector.hpp>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

/// What the front (rank 0) and its workers say to each other.
namespace serve {

/// The tags that all share. From `first_reply` on, each attempt at a request has a tag of its own for its answer.
enum : std::uint64_t { hellos, requests, cancels, first_reply = 1000 };

/// The first word of a worker.
struct hello {
  std::int64_t pid = 0;

  template <class Archive>
  void serialize(Archive& archive) {
    archive(pid);
  }
};

/// A text to count the words of.
struct request {
  std::uint64_t reply_tag = 0;
  std::uint32_t pace_ms = 0;  ///< rest before each part, as a slower computation would take
  std::string text;

  template <class Archive>
  void serialize(Archive& archive) {
    archive(reply_tag, pace_ms, text);
  }
};

/// Nobody waits for this answer any more.
struct cancel {
  std::uint64_t reply_tag = 0;

  template <class Archive>
  void serialize(Archive& archive) {
    archive(reply_tag);
  }
};

/// How far the count has come. It is far below `eager_limit` and rides inline: a receive of it that ends early has
/// swallowed nothing.
struct part {
  std::uint64_t bytes = 0;
  std::uint64_t words = 0;
  bool last = false;      ///< what follows is set, and nothing more comes
  bool given_up = false;  ///< the last one of a request that was cancelled: it counts nothing
  std::uint32_t checksum = 0;
  std::vector<std::pair<std::string, std::uint64_t>> most_frequent;

  template <class Archive>
  void serialize(Archive& archive) {
    archive(bytes, words, last, given_up, checksum, most_frequent);
  }
};

}  // namespace serve
