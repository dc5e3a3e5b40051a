// SPDX-License-Identifier: Apache-2.0
// Loads a server with texts of which it knows the answer, and checks every answer to the last byte:
// serve_client --port PORT [--requests N] [--connections N] [--seed N]
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>
#include <boost/crc.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <iostream>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using asio::ip::tcp;
using clock_type = std::chrono::steady_clock;

// From about 300 bytes to 170 KB: one part or several, below and above what travels inline.
constexpr std::array<std::uint64_t, 4> scales{1, 10, 100, 500};

struct question {
  std::string text;
  std::string last_line;  // of the answer
};

/// A text made of counted words, whose answer follows from how it was made.
question make_question(std::mt19937_64& random) {
  const std::uint64_t scale = scales[random() % scales.size()];
  const std::array<std::string, 5> words{"warp", "weft", "loom", "reed", "yarn"};
  std::vector<std::pair<std::uint64_t, std::string>> counts;  // the highest first: all differ
  std::vector<std::string> all;
  for (std::uint64_t i = 0; i < words.size(); ++i) {
    const std::uint64_t count = scale * (10 - 2 * i) + random() % scale;
    counts.emplace_back(count, words[i] + std::to_string(random() % 100'000));
    all.insert(all.end(), count, counts.back().second);
  }
  std::shuffle(all.begin(), all.end(), random);
  question made;
  for (const std::string& word : all) made.text.append(word).push_back(' ');
  boost::crc_32_type crc;
  crc.process_bytes(made.text.data(), made.text.size());
  std::array<char, 9> checksum{};
  std::snprintf(checksum.data(), checksum.size(), "%08x", crc.checksum());
  made.last_line = "{\"bytes\":" + std::to_string(made.text.size()) + ",\"words\":" + std::to_string(all.size()) +
                   ",\"checksum\":\"" + checksum.data() + "\",\"most_frequent\":[";
  for (const auto& [count, word] : counts)
    made.last_line += (made.last_line.back() == '[' ? "[\"" : ",[\"") + word + "\"," + std::to_string(count) + "]";
  made.last_line += "]}\n";
  return made;
}

/// What all connections have seen.
struct results {
  std::uint64_t left = 0;  // to be sent
  std::uint64_t correct = 0;
  std::uint64_t wrong = 0;
  std::uint64_t incomplete = 0;             // the connection ended within an answer
  std::map<unsigned, std::uint64_t> other;  // by HTTP status
  std::vector<std::uint32_t> microseconds;  // of the correct ones
};

void judge(results& all, const question& asked, const http::response<http::string_body>& answer,
           clock_type::time_point begin) {
  if (answer.result() != http::status::ok) {
    ++all.other[answer.result_int()];
  } else if (answer.body().ends_with(asked.last_line)) {
    ++all.correct;
    const auto took = std::chrono::duration_cast<std::chrono::microseconds>(clock_type::now() - begin);
    all.microseconds.push_back(static_cast<std::uint32_t>(took.count()));
  } else {
    ++all.wrong;
    std::cerr << "expected " << asked.last_line << "got " << answer.body();
  }
}

/// Asks on one connection until the server closes it.
asio::awaitable<void> ask(tcp::endpoint server, std::mt19937_64& random, results& all) {
  boost::beast::tcp_stream stream(co_await asio::this_coro::executor);
  co_await stream.async_connect(server, asio::use_awaitable);
  stream.socket().set_option(tcp::no_delay(true));
  boost::beast::flat_buffer buffer;
  bool open = true;
  while (open && all.left != 0) {
    --all.left;
    const question asked = make_question(random);
    http::request<http::string_body> request(http::verb::post, "/count", 11, asked.text);
    request.set(http::field::host, "localhost");
    request.prepare_payload();
    const auto begin = clock_type::now();
    stream.expires_after(std::chrono::seconds(60));
    co_await http::async_write(stream, request, asio::use_awaitable);
    http::response<http::string_body> answer;
    auto [code, size] = co_await http::async_read(stream, buffer, answer, asio::as_tuple(asio::use_awaitable));
    if (code)
      ++all.incomplete;
    else
      judge(all, asked, answer, begin);
    open = !code && answer.keep_alive();
  }
}

asio::awaitable<void> keep_asking(tcp::endpoint server, std::uint64_t seed, results& all) {
  std::mt19937_64 random(seed);
  while (all.left != 0) co_await ask(server, random, all);
}

double percentile(std::vector<std::uint32_t>& sorted, double part) {
  if (sorted.empty()) return 0;
  return sorted[static_cast<std::size_t>(part * static_cast<double>(sorted.size() - 1))] / 1000.0;
}

int report(results& all, double seconds) {
  std::sort(all.microseconds.begin(), all.microseconds.end());
  std::printf("%llu correct, %llu wrong, %llu incomplete", static_cast<unsigned long long>(all.correct),
              static_cast<unsigned long long>(all.wrong), static_cast<unsigned long long>(all.incomplete));
  for (const auto& [status, count] : all.other)
    std::printf(", %llu of status %u", static_cast<unsigned long long>(count), status);
  std::printf("; %.0f per second; p50 %.2f ms, p99 %.2f ms\n", static_cast<double>(all.correct) / seconds,
              percentile(all.microseconds, 0.5), percentile(all.microseconds, 0.99));
  return all.wrong == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  std::map<std::string, std::uint64_t> given{
      {"--port", 8080}, {"--requests", 1000}, {"--connections", 8}, {"--seed", 1}};
  try {
    for (int i = 1; i < argc; i += 2) given.at(argv[i]) = std::stoull(i + 1 < argc ? argv[i + 1] : "");
    asio::io_context context(1);
    results all;
    all.left = given["--requests"];
    const tcp::endpoint server(asio::ip::address_v4::loopback(), static_cast<std::uint16_t>(given["--port"]));
    std::exception_ptr problem;
    const auto ended = [&problem](const std::exception_ptr& thrown) { problem = thrown ? thrown : problem; };
    const auto begin = clock_type::now();
    for (std::uint64_t i = 0; i < given["--connections"]; ++i)
      asio::co_spawn(context, keep_asking(server, given["--seed"] * 1000 + i, all), ended);
    context.run();
    if (problem) std::rethrow_exception(problem);
    return report(all, std::chrono::duration<double>(clock_type::now() - begin).count());
  } catch (const std::exception& problem) {
    std::cerr << "serve_client: " << problem.what()
              << "; usage: serve_client [--port N] [--requests N] [--connections N] [--seed N]\n";
    return 2;
  }
}
