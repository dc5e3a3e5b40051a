// SPDX-License-Identifier: Apache-2.0
#include "rank_card.hpp"

#include <weft/engine/error.hpp>

#include <charconv>

namespace weft::detail {
namespace {

constexpr std::string_view first_line = "weft-card=1";

[[noreturn]] void refuse(int rank, std::string_view what) {
  throw error(errc::rendezvous_conflict, "the card of rank " + std::to_string(rank) + " cannot be read: " +
                                             std::string(what) + "; do all ranks use one version of weft?");
}

std::uint64_t number(std::string_view text, int rank) {
  std::uint64_t value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc{} || end != text.data() + text.size())
    refuse(rank, "\"" + std::string(text) + "\" is no number");
  return value;
}

void set(rank_card& card, std::string_view key, std::string_view value, int rank) {
  if (key == "incarnation") card.incarnation = number(value, rank);
  if (key == "inline-credit") card.inline_credit = number(value, rank);
  if (key == "links") card.links = value;
  if (key == "device-name") card.device_name = value;
  if (key == "device") card.device = value;
  if (key == "sequencer") card.sequencer = value;
}

}  // namespace

std::string rank_card::text() const {
  std::string all(first_line);
  all += ";incarnation=" + std::to_string(incarnation);
  all += ";inline-credit=" + std::to_string(inline_credit);
  all += ";links=" + links;
  all += ";device-name=" + device_name;
  all += ";device=" + device;
  if (!sequencer.empty()) all += ";sequencer=" + sequencer;
  return all;
}

rank_card rank_card::parse(std::string_view text, int rank) {
  rank_card card;
  if (!text.starts_with(first_line)) refuse(rank, "it does not begin with " + std::string(first_line));
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(';'), text.size());
    const std::string_view line = text.substr(0, end);
    const std::size_t equals = line.find('=');
    if (equals == std::string_view::npos) refuse(rank, "\"" + std::string(line) + "\" has no =");
    set(card, line.substr(0, equals), line.substr(equals + 1), rank);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  if (card.links.empty() || card.device.empty()) refuse(rank, "an address is missing");
  if (rank == 0 && card.sequencer.empty()) refuse(rank, "the sequencer's address is missing");
  return card;
}

}  // namespace weft::detail
