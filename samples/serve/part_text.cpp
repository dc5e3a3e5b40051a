// SPDX-License-Identifier: Apache-2.0
#include "part_text.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/beast/core/buffers_to_string.hpp>
#include <boost/beast/http/chunk_encode.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/write.hpp>

#include <cstdio>
#include <sstream>

namespace serve {
namespace {

namespace http = boost::beast::http;

// Words are letters and digits: nothing in them has to be escaped.
std::string line_of(const part& next) {
  std::string line = "{\"bytes\":" + std::to_string(next.bytes) + ",\"words\":" + std::to_string(next.words);
  if (next.last) {
    char checksum[9];
    std::snprintf(checksum, sizeof checksum, "%08x", next.checksum);
    line.append(",\"checksum\":\"").append(checksum).append("\",\"most_frequent\":[");
    for (const auto& [word, count] : next.most_frequent) {
      if (line.back() != '[') line.push_back(',');
      line.append("[\"").append(word).append("\",").append(std::to_string(count)).append("]");
    }
    line.push_back(']');
  }
  return line + "}\n";
}

}  // namespace

std::string answer_header(bool keep_alive) {
  http::response<http::empty_body> response(http::status::ok, 11);
  response.set(http::field::content_type, "application/x-ndjson");
  response.keep_alive(keep_alive);
  response.chunked(true);
  std::ostringstream text;
  text << response.base();
  return text.str();
}

std::string chunk_of(const part& next) {
  const std::string line = line_of(next);
  std::string chunk = boost::beast::buffers_to_string(http::make_chunk(boost::asio::buffer(line)));
  if (next.last) chunk += boost::beast::buffers_to_string(http::make_chunk_last());
  return chunk;
}

}  // namespace serve
