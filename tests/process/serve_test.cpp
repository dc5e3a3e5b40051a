// SPDX-License-Identifier: Apache-2.0
// The serving sample as its clients see it: answers, saturation, deadlines, clients that leave, workers that die.
#include "../support/spawned_program.hpp"

#include <doctest/doctest.h>

#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <list>
#include <string>
#include <utility>
#include <vector>

namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using boost::system::error_code;
using weft::test::spawned_program;
using words = std::vector<std::string>;
using response = http::response<http::string_body>;

// Longer than any test: who waits for it waits until something else happens.
const std::string for_ever = "pace=3600000";

const std::string short_text = "one two three";
const std::string short_answer =
    "{\"bytes\":13,\"words\":3,\"checksum\":\"7825d3d7\",\"most_frequent\":[[\"one\",1],[\"three\",1],[\"two\",1]]}\n";

/// One connection to the server.
class client {
 public:
  explicit client(std::uint16_t port) { socket_.connect({asio::ip::address_v4::loopback(), port}); }

  void send(http::verb method, const std::string& target, std::string body) {
    http::request<http::string_body> request(method, target, 11, std::move(body));
    request.set(http::field::host, "localhost");
    request.prepare_payload();
    http::write(socket_, request);
  }
  void post(const std::string& query, std::string text) { send(http::verb::post, "/count?" + query, std::move(text)); }

  /// The answer; `code` says whether it came to its end.
  response take(error_code& code) {
    response answer;
    http::read(socket_, buffer_, answer, code);
    return answer;
  }
  response take() {
    error_code code;
    response answer = take(code);
    REQUIRE_MESSAGE(!code, code.message());
    return answer;
  }
  response exchange(http::verb method, const std::string& target, std::string body = "") {
    send(method, target, std::move(body));
    return take();
  }

  /// Waits until the answer has begun.
  void await_head() { socket_.wait(asio::ip::tcp::socket::wait_read); }

 private:
  asio::io_context context_;
  asio::ip::tcp::socket socket_{context_};
  boost::beast::flat_buffer buffer_;
};

/// A server with `workers` workers.
class server {
 public:
  explicit server(int workers, const words& options = {}) : job_(command(workers, options)) {
    const std::string line = job_.read_line();
    const std::string mark = "serving on port ";
    REQUIRE_MESSAGE(line.find(mark) != std::string::npos, line);
    port_ = static_cast<std::uint16_t>(std::stoi(line.substr(line.find(mark) + mark.size())));
  }

  [[nodiscard]] std::uint16_t port() const { return port_; }
  [[nodiscard]] std::string stats() const { return client(port_).exchange(http::verb::get, "/stats").body(); }

  /// Waits until a counter of /stats has that value.
  void await(const std::string& name, std::int64_t value) const {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    std::string now = stats();
    while (number(now, name) != value && std::chrono::steady_clock::now() < deadline) now = stats();
    CAPTURE(now);
    REQUIRE(number(now, name) == value);
  }
  /// Waits until nothing is left of any request, at the workers or in between.
  void await_rest() const {
    await("in_flight", 0);
    CHECK(number(stats(), "unmatched") == 0);
  }

  void signal_worker(int rank, int signal) const {
    const std::string now = stats();
    const auto pid = number(now.substr(now.find("\"rank\":" + std::to_string(rank))), "pid");
    REQUIRE(kill(static_cast<pid_t>(pid), signal) == 0);
  }

  void terminate() const { job_.signal(SIGTERM); }
  spawned_program::ended finish() { return job_.finish(); }

 private:
  static words command(int workers, const words& options) {
    words made{WEFT_RUN_PATH, "-n", std::to_string(workers + 1), "--keep-going", SERVE_PATH, "--port", "0"};
    made.insert(made.end(), options.begin(), options.end());
    return made;
  }

  static std::int64_t number(const std::string& json, const std::string& name) {
    const std::string mark = "\"" + name + "\":";
    const std::size_t at = json.find(mark);
    REQUIRE_MESSAGE(at != std::string::npos, name, " in ", json);
    return std::stoll(json.substr(at + mark.size()));
  }

  spawned_program job_;
  std::uint16_t port_ = 0;
};

std::string repeated(const std::string& text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

}  // namespace

TEST_CASE("texts with known answers are counted, a long one in parts, on one connection") {
  server serving(3);
  client one(serving.port());
  for (int i = 0; i < 5; ++i) {
    const response answer = one.exchange(http::verb::post, "/count", short_text);
    CHECK(answer.result() == http::status::ok);
    CHECK(answer.chunked());
    CHECK(answer.body() == short_answer);
  }
  const response empty = one.exchange(http::verb::post, "/count");
  CHECK(empty.body() == "{\"bytes\":0,\"words\":0,\"checksum\":\"00000000\",\"most_frequent\":[]}\n");
  const response answer = one.exchange(http::verb::post, "/count", repeated("to be or not to be ", 10'000));
  CHECK(std::count(answer.body().begin(), answer.body().end(), '\n') == 12);
  CHECK(answer.body().starts_with("{\"bytes\":16384,\"words\":"));
  CHECK(
      answer.body().ends_with("{\"bytes\":190000,\"words\":60000,\"checksum\":\"2112c7c0\",\"most_frequent\":"
                              "[[\"be\",20000],[\"to\",20000],[\"not\",10000],[\"or\",10000]]}\n"));
  serving.await_rest();
  serving.await("answered", 7);
}

TEST_CASE("requests that cannot be taken are refused with a reason, and the server goes on") {
  server serving(1);
  client one(serving.port());
  CHECK(one.exchange(http::verb::get, "/").result() == http::status::not_found);
  CHECK(one.exchange(http::verb::get, "/count").result() == http::status::method_not_allowed);
  const response wrong = one.exchange(http::verb::post, "/count?pace=slow", short_text);
  CHECK(wrong.result() == http::status::bad_request);
  CHECK(wrong.body() == "pace takes a number from 0 to 3600000, not 'slow'\n");
  CHECK(one.exchange(http::verb::post, "/count", short_text).body() == short_answer);
  client large(serving.port());
  CHECK(large.exchange(http::verb::post, "/count", std::string((1 << 20) + 1, 'x')).result() ==
        http::status::payload_too_large);
  serving.await("requests", 1);
}

TEST_CASE("with all workers full a request is refused, and clients that leave make room again") {
  server serving(3, {"--capacity", "1", "--deadline", "3600000"});
  {
    std::list<client> leaving;
    for (int i = 0; i < 3; ++i) leaving.emplace_back(serving.port()).post(for_ever, short_text);
    serving.await("in_flight", 3);
    const response refused = client(serving.port()).exchange(http::verb::post, "/count", short_text);
    CHECK(refused.result() == http::status::service_unavailable);
    CHECK(refused[http::field::retry_after] == "1");
    CHECK(refused.keep_alive());
  }
  serving.await("cancelled", 3);
  serving.await("given_up", 3);
  serving.await_rest();
  CHECK(client(serving.port()).exchange(http::verb::post, "/count", short_text).body() == short_answer);
}

TEST_CASE("a request that meets its deadline is told so, and its worker stops") {
  server serving(1, {"--deadline", "100", "--capacity", "1"});
  client one(serving.port());
  one.post(for_ever, short_text);
  CHECK(one.take().result() == http::status::gateway_timeout);
  serving.await("given_up", 1);
  serving.await_rest();
  // A large text may meet its deadline on the way to the worker, and is then taken back.
  one.post(for_ever + "&deadline=1", repeated("to be or not to be ", 10'000));
  CHECK(one.take().result() == http::status::gateway_timeout);
  serving.await("too_late", 2);
  serving.await_rest();
}

TEST_CASE("what a dead worker had not begun is done by another, what it had begun is cut off, the rest goes on") {
  server serving(2, {"--deadline", "3600000"});
  // Its answer has 40 parts with half a second between them: it is begun, and far from its end.
  client begun(serving.port());
  begun.post("pace=500", std::string(40 * 16'384, 'x'));
  begun.await_head();
  serving.signal_worker(2, SIGSTOP);
  client waiting(serving.port());
  waiting.post("", short_text);
  serving.await("in_flight", 2);
  serving.signal_worker(2, SIGKILL);
  CHECK(waiting.take().body() == short_answer);
  serving.await("failed_over", 1);
  CHECK(serving.stats().find("\"state\":\"lost\"") != std::string::npos);
  for (int i = 0; i < 4; ++i) CHECK(waiting.exchange(http::verb::post, "/count", short_text).body() == short_answer);

  serving.signal_worker(1, SIGKILL);
  error_code code;
  CHECK(begun.take(code).result() == http::status::ok);
  CHECK(code == http::error::partial_message);
  CHECK(waiting.exchange(http::verb::post, "/count", short_text).result() == http::status::bad_gateway);
  serving.await("cut_off", 1);
  serving.await_rest();
  serving.terminate();
  CHECK(serving.finish().status == 128 + SIGKILL);
}

TEST_CASE("after SIGTERM what is begun is answered, idle connections end, and all ranks leave in peace") {
  server serving(2, {"--deadline", "3600000"});
  client idle(serving.port());
  CHECK(idle.exchange(http::verb::post, "/count", short_text).keep_alive());
  client begun(serving.port());
  begun.post("pace=100", std::string(10 * 16'384, 'x'));
  begun.await_head();
  serving.terminate();
  error_code code;
  idle.take(code);
  CHECK(code == http::error::end_of_stream);
  CHECK(begun.take().body().find("\"words\":1,") != std::string::npos);
  const auto ended = serving.finish();
  CAPTURE(ended.output);
  CAPTURE(ended.errors);
  CHECK(ended.status == 0);
  CHECK(ended.output.find("\"answered\":2,") != std::string::npos);
}
