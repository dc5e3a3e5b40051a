// SPDX-License-Identifier: Apache-2.0
#include "object_comparison.hpp"

#include "small_requests.hpp"

#include <weft/engine/objects.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <map>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace weft::bench {
namespace {

namespace asio = boost::asio;

constexpr std::size_t large_floats = (std::size_t{64} << 20) / sizeof(float);
constexpr std::size_t vectors = 10'000;
constexpr std::size_t small_vector = 256;    // floats: 1 KiB, every second one
constexpr std::size_t large_vector = 3'099;  // so that all make 64 MiB
constexpr int rounds = 5;
constexpr int repetitions = 4;
constexpr std::uint64_t payload_tag = 1;
constexpr std::uint64_t answer_tag = 2;

/// A type of a program's own, which says that it may be loaded before its numbers have come.
struct opted_in {
  static constexpr bool weft_late_delivery = true;
  int number = 0;
  std::vector<float> samples;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(number, samples);
  }
};

/// And one that says nothing.
struct not_opted_in {
  int number = 0;
  std::vector<float> samples;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(number, samples);
  }
};

using map_of_vectors = std::map<int, std::vector<float>>;

std::vector<float> numbered(std::size_t count) {
  std::vector<float> made(count);
  std::iota(made.begin(), made.end(), 1.0F);
  return made;
}

map_of_vectors mixed_map() {
  map_of_vectors made;
  for (std::size_t i = 0; i < vectors; ++i)
    made.emplace(static_cast<int>(i), numbered(i % 2 == 0 ? small_vector : large_vector));
  return made;
}

template <class T>
void verify(const T& got, const T& sent) {
  if (got != sent) throw std::runtime_error("an object arrived damaged");
}

/// One way to move something from rank 0 to rank 1.
class way {
 public:
  explicit way(std::string text) : name(std::move(text)) {}
  way(const way&) = delete;
  way& operator=(const way&) = delete;
  virtual ~way() = default;

  virtual asio::awaitable<void> send(const communicator& comm) = 0;
  virtual asio::awaitable<void> receive(const communicator& comm) = 0;
  virtual void check() const = 0;

  std::string name;
  std::vector<double> seconds;

  [[nodiscard]] double median() {
    std::sort(seconds.begin(), seconds.end());
    return seconds[seconds.size() / 2];
  }
};

/// What several ways move, so that all of them read and write the same memory.
struct moved {
  opted_in sent;
  opted_in got;
};

class plain_buffer final : public way {
 public:
  plain_buffer(std::string text, moved& what, bool fresh)
      : way(std::move(text)), sent_(what.sent.samples), got_(what.got.samples), fresh_(fresh) {}
  asio::awaitable<void> send(const communicator& comm) override { co_await comm.send(sent_, to(1, payload_tag)); }
  asio::awaitable<void> receive(const communicator& comm) override {
    if (fresh_) got_ = std::vector<float>();
    got_.resize(sent_.size());
    co_await comm.recv(got_, from(0, payload_tag));
  }
  void check() const override { verify(got_, sent_); }

 private:
  const std::vector<float>& sent_;
  std::vector<float>& got_;
  bool fresh_;
};

class vector_object final : public way {
 public:
  vector_object(std::string text, moved& what, bool fresh)
      : way(std::move(text)), sent_(what.sent.samples), got_(what.got.samples), fresh_(fresh) {}
  asio::awaitable<void> send(const communicator& comm) override {
    co_await send_objects(comm, to(1, payload_tag), sent_);
  }
  asio::awaitable<void> receive(const communicator& comm) override {
    if (!fresh_) {
      co_await recv_objects_into(comm, from(0, payload_tag), got_);
      co_return;
    }
    got_ = std::vector<float>();
    auto [envelope, made] = co_await recv_objects<std::vector<float>>(comm, from(0, payload_tag));
    got_ = std::move(made);
  }
  void check() const override { verify(got_, sent_); }

 private:
  const std::vector<float>& sent_;
  std::vector<float>& got_;
  bool fresh_;
};

template <class T>
class struct_object final : public way {
 public:
  struct_object(std::string text, const T& sent, T& got) : way(std::move(text)), sent_(sent), got_(got) {}
  asio::awaitable<void> send(const communicator& comm) override {
    co_await send_objects(comm, to(1, payload_tag), sent_);
  }
  asio::awaitable<void> receive(const communicator& comm) override {
    co_await recv_objects_into(comm, from(0, payload_tag), got_);
  }
  void check() const override { verify(got_.samples, sent_.samples); }

 private:
  const T& sent_;
  T& got_;
};

class map_object final : public way {
 public:
  map_object(std::string text, const map_of_vectors& sent) : way(std::move(text)), sent_(sent) {}
  asio::awaitable<void> send(const communicator& comm) override {
    co_await send_objects(comm, to(1, payload_tag), sent_);
  }
  asio::awaitable<void> receive(const communicator& comm) override {
    co_await recv_objects_into(comm, from(0, payload_tag), got_);
  }
  void check() const override { verify(got_, sent_); }

 private:
  const map_of_vectors& sent_;
  map_of_vectors got_;
};

/// What a program does that packs everything into one buffer, which it has.
class packed_map final : public way {
 public:
  packed_map(std::string text, const map_of_vectors& sent) : way(std::move(text)), sent_(sent) {}
  asio::awaitable<void> send(const communicator& comm) override {
    buffer_.clear();
    serializers::encode(buffer_, sent_);
    co_await send_objects(comm, to(1, payload_tag), buffer_.size());
    co_await comm.send(buffer_.bytes(), to(1, payload_tag));
  }
  asio::awaitable<void> receive(const communicator& comm) override {
    auto [envelope, size] = co_await recv_objects<std::size_t>(comm, from(0, payload_tag));
    buffer_.resize_uninitialized(size);
    const std::span<std::byte> memory(buffer_.data(), size);
    co_await comm.recv(memory, from(0, payload_tag));
    serializers::decode_into(buffer_.bytes(), {}, got_);
  }
  void check() const override { verify(got_, sent_); }

 private:
  const map_of_vectors& sent_;
  serializers::byte_buffer buffer_;
  map_of_vectors got_;
};

asio::awaitable<void> run_once(const communicator& comm, way& one) {
  if (comm.rank() == 0) {
    co_await one.send(comm);
    co_await recv_objects<bool>(comm, from(1, answer_tag));
  } else {
    co_await one.receive(comm);
    co_await send_objects(comm, to(0, answer_tag), true);
  }
}

asio::awaitable<void> run_rounds(const communicator& comm, std::vector<std::unique_ptr<way>>& ways) {
  for (const auto& one : ways) {
    co_await run_once(comm, *one);
    if (comm.rank() == 1) one->check();
  }
  for (int round = 0; round < rounds; ++round)
    for (const auto& one : ways) {
      co_await run_once(comm, *one);  // what the one before has left in the caches
      const auto before = std::chrono::steady_clock::now();
      for (int i = 0; i < repetitions; ++i) co_await run_once(comm, *one);
      const std::chrono::duration<double> took = std::chrono::steady_clock::now() - before;
      one->seconds.push_back(took.count() / repetitions);
    }
}

// As they stand in the list of ways. Outside of the coroutine, where an enumeration can make g++ 12 break down.
enum : std::size_t { plain, object, in_struct, plain_fresh, object_fresh, copied, map_apart, map_packed };

std::string line(const std::string& name, double seconds, const char* against, double other) {
  std::array<char, 200> text{};
  std::snprintf(text.data(), text.size(), "%-44s %9.2f ms   %5.2f of the speed of %s\n", name.c_str(), seconds * 1e3,
                other / seconds, against);
  return text.data();
}

}  // namespace

asio::awaitable<std::string> compare_objects(weft::communicator comm) {
  if (comm.size() != 2) throw std::runtime_error("--compare is for two ranks");
  moved large{{7, numbered(large_floats)}, {}};
  const not_opted_in plain_struct{7, large.sent.samples};
  not_opted_in plain_struct_got;
  const map_of_vectors map = mixed_map();

  std::vector<std::unique_ptr<way>> ways;
  ways.push_back(std::make_unique<plain_buffer>("plain buffer, into existing memory", large, false));
  ways.push_back(std::make_unique<vector_object>("vector as an object, into an existing one", large, false));
  ways.push_back(std::make_unique<struct_object<opted_in>>("in a struct that opts in, into an existing one", large.sent,
                                                           large.got));
  ways.push_back(std::make_unique<plain_buffer>("plain buffer, into fresh memory", large, true));
  ways.push_back(std::make_unique<vector_object>("vector as an object, into a fresh one", large, true));
  ways.push_back(std::make_unique<struct_object<not_opted_in>>("in a struct that does not opt in", plain_struct,
                                                               plain_struct_got));
  ways.push_back(std::make_unique<map_object>("map of 10,000 vectors as an object", map));
  ways.push_back(std::make_unique<packed_map>("map of 10,000 vectors, packed before", map));
  co_await run_rounds(comm, ways);
  // Copied bytes are counted where they arrive.
  const std::uint64_t copies = comm.stats().copied;
  if (comm.rank() == 1) {
    co_await send_objects(comm, to(0, answer_tag), copies);
    co_return std::string();
  }
  auto [envelope, copied_there] = co_await recv_objects<std::uint64_t>(comm, from(1, answer_tag));

  std::string table = "64 MiB from rank 0 to rank 1 and an answer, medians of 5 rounds\n";
  const auto compare = [&](std::size_t one, std::size_t other, const char* against) {
    table += line(ways[one]->name, ways[one]->median(), against, ways[other]->median());
  };
  compare(plain, plain, "itself");
  compare(object, plain, "the plain buffer");
  compare(in_struct, plain, "the plain buffer");
  compare(plain_fresh, plain_fresh, "itself");
  compare(object_fresh, plain_fresh, "the plain buffer, fresh");
  compare(copied, plain, "the plain buffer");
  compare(map_apart, map_packed, "the packed one");
  compare(map_packed, map_packed, "itself");
  constexpr double times = 1 + rounds * (1 + repetitions);
  std::array<char, 200> text{};
  std::snprintf(text.data(), text.size(),
                "bytes copied out of received messages: %.2f for each byte of the struct that does not opt in\n",
                static_cast<double>(copied_there) / (times * static_cast<double>(large_floats * sizeof(float))));
  co_return table + text.data() + small_request_table();
}

}  // namespace weft::bench
