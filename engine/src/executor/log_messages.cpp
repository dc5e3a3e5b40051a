// SPDX-License-Identifier: Apache-2.0
#include "executor/log_messages.hpp"

#include "protocol/messages.hpp"

#include <algorithm>
#include <cstring>

namespace weft::detail {
namespace {

template <class T>
void put(std::vector<std::byte>& out, const T& value) {
  const auto bytes = std::as_bytes(std::span(&value, 1));
  out.insert(out.end(), bytes.begin(), bytes.end());
}

/// `count` values of a fixed size that make up exactly what is left.
template <class T>
std::optional<std::vector<T>> take_all(std::span<const std::byte> bytes, std::size_t count) {
  if (bytes.size() % sizeof(T) != 0 || bytes.size() / sizeof(T) != count) return std::nullopt;
  std::vector<T> values(count);
  if (count != 0) std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

std::optional<protocol::log_entry> decode_create(std::span<const std::byte> bytes) {
  const auto body = protocol::parse<create_body>(bytes);
  if (!body) return std::nullopt;
  const auto members = take_all<std::int32_t>(bytes.subspan(sizeof *body), body->members);
  if (!members || members->empty()) return std::nullopt;
  protocol::create what{
      .kind = body->is_pair == 1 ? protocol::communicator_kind::pair : protocol::communicator_kind::group,
      .members = {members->begin(), members->end()}};
  return protocol::log_entry{body->entry, body->communicator, std::move(what)};
}

std::optional<protocol::log_entry> decode_connect(std::span<const std::byte> bytes) {
  const auto body = protocol::parse<connect_body>(bytes);
  if (!body) return std::nullopt;
  return protocol::log_entry{body->entry, body->communicator, protocol::connect{body->source, body->destination}};
}

std::optional<protocol::log_entry> decode_batch(std::span<const std::byte> bytes) {
  const auto body = protocol::parse<batch_body>(bytes);
  if (!body) return std::nullopt;
  const auto operations = take_all<batch_operation_body>(bytes.subspan(sizeof *body), body->operations);
  if (!operations) return std::nullopt;
  protocol::batch what;
  what.transfers.reserve(operations->size());
  for (const batch_operation_body& one : *operations)
    what.transfers.push_back({one.source, one.destination, one.send, one.receive, one.bytes});
  return protocol::log_entry{body->entry, body->communicator, std::move(what)};
}

std::optional<protocol::log_entry> decode_lease(std::span<const std::byte> bytes) {
  const auto body = protocol::parse<lease_body>(bytes);
  if (!body) return std::nullopt;
  return protocol::log_entry{body->entry, protocol::group_communicator, protocol::lease{body->wish}};
}

template <class Content>
std::optional<protocol::log_entry> decode_bare(std::span<const std::byte> bytes) {
  const auto body = protocol::parse<communicator_body>(bytes);
  if (!body) return std::nullopt;
  return protocol::log_entry{body->entry, body->communicator, Content{}};
}

/// One overload for each kind of entry.
struct encoder {
  log_message operator()(const protocol::create& what) const {
    const std::uint32_t is_pair = what.kind == protocol::communicator_kind::pair ? 1 : 0;
    put(out,
        create_body{entry.number, entry.communicator, static_cast<std::uint32_t>(what.members.size()), is_pair, 0});
    for (const int member : what.members) put(out, std::int32_t{member});
    return log_message::create;
  }
  log_message operator()(const protocol::connect& what) const {
    put(out, connect_body{entry.number, entry.communicator, what.source, what.destination, 0});
    return log_message::connect;
  }
  log_message operator()(const protocol::batch& what) const {
    put(out, batch_body{entry.number, entry.communicator, static_cast<std::uint32_t>(what.transfers.size())});
    for (const protocol::transfer& one : what.transfers)
      put(out, batch_operation_body{one.source, one.destination, one.send, one.receive, one.bytes});
    return log_message::batch;
  }
  log_message operator()(const protocol::evict&) const {
    put(out, communicator_body{entry.number, entry.communicator, 0});
    return log_message::evict;
  }
  log_message operator()(const protocol::abort&) const {
    put(out, communicator_body{entry.number, entry.communicator, 0});
    return log_message::abort;
  }
  log_message operator()(const protocol::lease& what) const {
    put(out, lease_body{entry.number, what.wish});
    return log_message::lease;
  }
  const protocol::log_entry& entry;
  std::vector<std::byte>& out;
};

/// Whether these are ranks that exist, each once, and `self` among them.
bool is_group_of(int self, int ranks, std::vector<int> members) {
  std::sort(members.begin(), members.end());
  return !members.empty() && members.front() >= 0 && members.back() < ranks &&
         std::adjacent_find(members.begin(), members.end()) == members.end() &&
         std::binary_search(members.begin(), members.end(), self);
}

/// One overload for each kind of entry.
struct concern {
  bool operator()(const protocol::create& what) const {
    const bool is_whole = what.kind == protocol::communicator_kind::group || what.members.size() == 2;
    return is_whole && is_group_of(self, ranks, what.members);
  }
  bool operator()(const protocol::connect& what) const {
    return is_own(what.source, what.destination) && what.source != what.destination;
  }
  bool operator()(const protocol::batch& what) const {
    return std::all_of(what.transfers.begin(), what.transfers.end(),
                       [this](const protocol::transfer& one) { return is_own(one.source, one.destination); });
  }
  bool operator()(const protocol::evict&) const { return true; }
  bool operator()(const protocol::abort&) const { return true; }
  bool operator()(const protocol::lease&) const { return true; }

  bool exists(int rank) const { return rank >= 0 && rank < ranks; }
  bool is_own(int source, int destination) const {
    return exists(source) && exists(destination) && (source == self || destination == self);
  }
  int self;
  int ranks;
};

}  // namespace

bool concerns(const protocol::log_entry& entry, int self, int ranks) {
  return std::visit(concern{self, ranks}, entry.content);
}

bool concerns(const protocol::split_answer& answer, int self, int ranks) {
  if (answer.code != errc{} && answer.code != errc::peer_lost && answer.code != errc::peer_left) return false;
  return answer.members.empty() || (answer.code == errc{} && is_group_of(self, ranks, answer.members));
}

log_message encode(const protocol::log_entry& entry, std::vector<std::byte>& out) {
  return std::visit(encoder{entry, out}, entry.content);
}

void encode(const protocol::split_answer& answer, std::vector<std::byte>& out) {
  put(out, split_done_body{.parent = answer.parent,
                           .group = answer.group,
                           .code = static_cast<std::uint32_t>(answer.code),
                           .gone = answer.gone,
                           .members = static_cast<std::uint32_t>(answer.members.size()),
                           .reserved = 0});
  for (const int member : answer.members) put(out, std::int32_t{member});
}

std::optional<protocol::split_answer> decode_split_done(std::span<const std::byte> bytes) {
  const auto body = protocol::parse<split_done_body>(bytes);
  if (!body) return std::nullopt;
  const auto members = take_all<std::int32_t>(bytes.subspan(sizeof *body), body->members);
  if (!members) return std::nullopt;
  protocol::split_answer answer{
      .parent = body->parent, .code = static_cast<errc>(body->code), .gone = body->gone, .group = body->group};
  answer.members.assign(members->begin(), members->end());
  return answer;
}

std::optional<protocol::log_entry> decode(log_message type, std::span<const std::byte> body) {
  switch (type) {
    case log_message::create:
      return decode_create(body);
    case log_message::connect:
      return decode_connect(body);
    case log_message::batch:
      return decode_batch(body);
    case log_message::evict:
      return decode_bare<protocol::evict>(body);
    case log_message::abort:
      return decode_bare<protocol::abort>(body);
    case log_message::lease:
      return decode_lease(body);
    default:
      return std::nullopt;
  }
}

}  // namespace weft::detail
