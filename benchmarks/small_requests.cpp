// SPDX-License-Identifier: Apache-2.0
#include "small_requests.hpp"

#include <weft/serializers/frame.hpp>

#include <cereal/archives/binary.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <istream>
#include <numeric>
#include <ostream>
#include <stdexcept>
#include <streambuf>
#include <vector>

namespace weft::bench {
namespace {

struct request {
  int kind = 0;
  int session = 0;
  int length = 0;
  std::string user;
  std::vector<double> weights;

  template <class Archive>
  void serialize(Archive& archive) {
    archive(kind, session, length, user, weights);
  }
};

request some_request() {
  request made{1, 2, 3, std::string(32, 'u'), std::vector<double>(16)};
  std::iota(made.weights.begin(), made.weights.end(), 0.5);
  return made;
}

/// Memory as a stream, for cereal's own archives.
class fixed_stream : public std::streambuf {
 public:
  fixed_stream(char* begin, std::size_t size) {
    setp(begin, begin + size);
    setg(begin, begin, begin + size);
  }
};

void by_weft(const request& from, request& to) {
  static serializers::byte_buffer frame;
  frame.clear();
  serializers::encode(frame, from);
  serializers::decode_into(frame.bytes(), {}, to);
}

void by_cereal(const request& from, request& to) {
  static std::array<char, 1024> memory;
  {
    fixed_stream buffer(memory.data(), memory.size());
    std::ostream out(&buffer);
    cereal::BinaryOutputArchive archive(out);
    archive(from);
  }
  fixed_stream buffer(memory.data(), memory.size());
  std::istream in(&buffer);
  cereal::BinaryInputArchive archive(in);
  archive(to);
}

void by_hand(const request& from, request& to) {
  static std::array<std::byte, 1024> memory;
  std::byte* out = memory.data();
  const auto put = [&](const void* data, std::size_t size) {
    std::memcpy(out, data, size);
    out += size;
  };
  const std::array<std::size_t, 2> sizes{from.user.size(), from.weights.size()};
  put(&from.kind, 3 * sizeof(int));
  put(sizes.data(), sizeof sizes);
  put(from.user.data(), sizes[0]);
  put(from.weights.data(), sizes[1] * sizeof(double));

  const std::byte* in = memory.data();
  const auto get = [&](void* data, std::size_t size) {
    std::memcpy(data, in, size);
    in += size;
  };
  std::array<std::size_t, 2> counts{};
  get(&to.kind, 3 * sizeof(int));
  get(counts.data(), sizeof counts);
  to.user.resize(counts[0]);
  to.weights.resize(counts[1]);
  get(to.user.data(), counts[0]);
  get(to.weights.data(), counts[1] * sizeof(double));
}

double nanoseconds_of(void (*way)(const request&, request&)) {
  constexpr int runs = 200'000;
  const request from = some_request();
  std::vector<double> took;
  for (int round = 0; round < 5; ++round) {
    const auto before = std::chrono::steady_clock::now();
    for (int i = 0; i < runs; ++i) {
      request to;  // a fresh one, as a server has
      way(from, to);
      if (to.weights.back() != from.weights.back()) throw std::runtime_error("a request was damaged");
    }
    const std::chrono::duration<double, std::nano> whole = std::chrono::steady_clock::now() - before;
    took.push_back(whole.count() / runs);
  }
  std::sort(took.begin(), took.end());
  return took[took.size() / 2];
}

}  // namespace

std::string small_request_table() {
  const double weft = nanoseconds_of(by_weft);
  const double cereal = nanoseconds_of(by_cereal);
  const double hand = nanoseconds_of(by_hand);
  std::array<char, 400> text{};
  std::snprintf(
      text.data(), text.size(),
      "small request, there and back: weft %.0f ns, cereal over a fixed buffer %.0f ns (weft takes %.2f of it), "
      "written by hand %.0f ns\n",
      weft, cereal, weft / cereal, hand);
  return text.data();
}

}  // namespace weft::bench
