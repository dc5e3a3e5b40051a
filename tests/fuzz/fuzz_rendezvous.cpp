// SPDX-License-Identifier: Apache-2.0
// What ranks tell each other as they meet: contributions, replies, and the cards and addresses within.
#include "fuzz_input.hpp"
#include "fuzz_target.hpp"

#include "link/address.hpp"
#include "link/rendezvous_messages.hpp"
#include "rank_card.hpp"

#include <weft/engine/error.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <algorithm>
#include <exception>
#include <string>
#include <utility>

namespace weft::fuzz {
namespace {

using namespace detail;

constexpr int world_size = 3;

/// Bytes that are there, and then the end of the stream.
class memory_source final : public byte_source {
 public:
  explicit memory_source(fuzz_input& input) : input_(input) {}

  boost::asio::awaitable<void> read(std::span<std::byte> bytes) override {
    const auto taken = input_.take(bytes.size());
    if (taken.size() != bytes.size()) throw boost::system::system_error(boost::asio::error::eof);
    std::ranges::copy(taken, bytes.begin());
    co_return;
  }

 private:
  fuzz_input& input_;
};

// Two ways to fail, both by name: the stream ends, or what it has is malformed.
template <class T>
bool awaited(boost::asio::awaitable<T> reading, T& value) {
  static boost::asio::io_context context{1};
  std::exception_ptr problem;
  boost::asio::co_spawn(context, std::move(reading), [&](std::exception_ptr thrown, T result) {
    problem = thrown;
    value = std::move(result);
  });
  context.restart();
  context.run();
  if (!problem) return true;
  try {
    std::rethrow_exception(problem);
  } catch (const error& malformed) {
    require(malformed.code() == errc::malformed_message, "what is malformed says so");
  } catch (const boost::system::system_error& ended) {
    require(ended.code() == boost::asio::error::eof, "a stream fails only where it ends");
  }
  return false;
}

bool is_printable(const std::string& text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c < '\x7f'; });
}

void check_address(std::string_view text) {
  try {
    const address parsed = address::parse(text);
    require(address::parse(parsed.text()) == parsed, "an address reads back as itself");
    (void)parsed.is_loopback();
  } catch (const error& unusable) {
    require(unusable.code() == errc::address_unusable, "an address that is none says so");
  }
}

void check_card(std::string_view text, int rank) {
  try {
    const rank_card card = rank_card::parse(text, rank);
    const std::string again = card.text();
    require(rank_card::parse(again, rank).text() == again, "a card reads back as itself");
    check_address(card.links);
  } catch (const error& refused) {
    require(refused.code() == errc::rendezvous_conflict, "a card that is none says so");
  }
}

void check_contribution(fuzz_input& input) {
  memory_source from(input);
  contribution what;
  if (!awaited(read_contribution(from), what)) return;
  require(is_printable(what.who) && is_printable(what.card), "texts are printable");
  require(what.patience.count() >= 0, "nobody waits for less than no time");
  check_card(what.card, 1);
}

void check_reply(fuzz_input& input) {
  memory_source from(input);
  reply what;
  if (!awaited(read_reply(from, world_size), what)) return;
  require(what.texts.size() == (what.kind == reply_kind::cards ? std::size_t{world_size} : 1U), "all texts are there");
  for (std::size_t rank = 0; rank < what.texts.size(); ++rank) {
    require(is_printable(what.texts[rank]), "texts are printable");
    check_card(what.texts[rank], static_cast<int>(rank));
  }
}

}  // namespace
}  // namespace weft::fuzz

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace weft::fuzz;
  fuzz_input input(data, size);
  const unsigned choice = input.below(4);
  if (choice == 0) check_contribution(input);
  if (choice == 1) check_reply(input);
  if (choice > 1) {
    const auto bytes = input.rest();
    const std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    choice == 2 ? check_card(text, 0) : check_address(text);
  }
  return 0;
}
