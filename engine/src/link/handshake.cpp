// SPDX-License-Identifier: Apache-2.0
#include "link/handshake.hpp"

#include <weft/engine/error.hpp>

#include <sodium/core.h>
#include <sodium/randombytes.h>
#include <sodium/utils.h>

#include <algorithm>
#include <cassert>
#include <stdexcept>
#include <utility>

namespace weft::detail {
namespace {

constexpr std::uint32_t magic = 0x74666577;  // "weft"
constexpr std::size_t magic_bytes = 4;
constexpr std::size_t version_bytes = 2;
constexpr std::size_t prelude_bytes = 8;
constexpr std::size_t hello_bytes = 1 + 4 + 4 + 4 + 8 + 8 + nonce_bytes;  // each count is behind the prelude
constexpr std::size_t mac_bytes = crypto_auth_hmacsha256_BYTES;
constexpr std::size_t challenge_bytes = nonce_bytes + 8 + mac_bytes;
constexpr std::size_t verdict_bytes = 1 + mac_bytes;

constexpr std::string_view server_role = "weft: I am the server";
constexpr std::string_view client_role = "weft: I am the client";
constexpr std::string_view verdict_role = "weft: my verdict";

constexpr const char* wrong_key = "the other end holds another job key: set WEFT_JOB_KEY to one secret on all ranks";

const unsigned char* raw(const std::byte* bytes) {
  return reinterpret_cast<const unsigned char*>(bytes);
}
unsigned char* raw(std::byte* bytes) {
  return reinterpret_cast<unsigned char*>(bytes);
}

void initialize_sodium() {
  static const int result = sodium_init();
  if (result < 0) throw std::runtime_error("weft: libsodium found no source of random numbers");
}

/// Takes little-endian numbers from the front of a message of known size.
class number_reader {
 public:
  explicit number_reader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  template <class Number>
  [[nodiscard]] Number next() {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < sizeof(Number); ++i) value |= std::to_integer<std::uint64_t>(bytes_[i]) << (8 * i);
    bytes_ = bytes_.subspan(sizeof(Number));
    return static_cast<Number>(value);
  }

 private:
  std::span<const std::byte> bytes_;
};

}  // namespace

std::string_view describe(verdict what) noexcept {
  switch (what) {
    case verdict::accepted:
      return "accepted";
    case verdict::busy:
      return "another connection between the two stands";
    case verdict::wrong_rank:
      return "it is not the rank asked for, or does not expect this one";
    case verdict::wrong_world_size:
      return "its world size is another";
    case verdict::unknown_incarnation:
      return "it does not know this incarnation of the rank";
    case verdict::wrong_purpose:
      return "it does not serve this purpose";
    case verdict::closing:
      return "it is closing";
  }
  return "unknown verdict";
}

handshake_nonce make_nonce() {
  initialize_sodium();
  handshake_nonce nonce;
  ::randombytes_buf(nonce.data(), nonce.size());
  return nonce;
}

// ---- both sides

handshake::handshake(std::string_view job_key, std::uint16_t version) : version_(version) {
  initialize_sodium();
  crypto_auth_hmacsha256_init(&keyed_, reinterpret_cast<const unsigned char*>(job_key.data()), job_key.size());
}

handshake::~handshake() {
  sodium_memzero(&keyed_, sizeof keyed_);
}

handshake::mac handshake::prove(std::string_view role) const {
  crypto_auth_hmacsha256_state state = keyed_;
  crypto_auth_hmacsha256_update(&state, reinterpret_cast<const unsigned char*>(role.data()), role.size());
  crypto_auth_hmacsha256_update(&state, raw(transcript_.data()), size_);
  mac result;
  crypto_auth_hmacsha256_final(&state, raw(result.data()));
  sodium_memzero(&state, sizeof state);
  return result;
}

bool handshake::proves(std::string_view role, std::span<const std::byte> claim) const {
  const mac expected = prove(role);
  return claim.size() == expected.size() && sodium_memcmp(expected.data(), claim.data(), claim.size()) == 0;
}

handshake_step handshake::fail(const boost::system::error_code& code, std::string reason) {
  code_ = code;
  reason_ = std::move(reason);
  return {handshake_status::failed, {}, 0};
}

bool handshake::accept_prelude(std::span<const std::byte> bytes) {
  number_reader numbers(bytes);
  if (numbers.next<std::uint32_t>() != magic) {
    (void)fail(errc::protocol_mismatch, "the other end does not speak the protocol of weft");
    return false;
  }
  const auto version = numbers.next<std::uint16_t>();
  add(bytes);
  if (version == version_) return true;
  (void)fail(errc::protocol_mismatch, "the other end speaks version " + std::to_string(version) +
                                          " of the wire protocol, this one version " + std::to_string(version_) +
                                          ": use one version of weft on all ranks");
  return false;
}

void handshake::add(std::span<const std::byte> bytes) {
  assert(size_ + bytes.size() <= transcript_.size());
  std::copy(bytes.begin(), bytes.end(), transcript_.begin() + static_cast<std::ptrdiff_t>(size_));
  size_ += bytes.size();
}

void handshake::add_number(std::uint64_t value, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; ++i) transcript_[size_++] = static_cast<std::byte>(value >> (8 * i));
}

void handshake::add_prelude() {
  add_number(magic, magic_bytes);
  add_number(version_, version_bytes);
  add_number(0, prelude_bytes - magic_bytes - version_bytes);
}

// ---- client

client_handshake::client_handshake(std::string_view job_key, const hello& mine, const handshake_nonce& nonce,
                                   std::uint16_t version)
    : handshake(job_key, version), mine_(mine), nonce_(nonce) {}

handshake_step client_handshake::start() {
  add_prelude();
  add_number(static_cast<std::uint8_t>(mine_.purpose), 1);
  add_number(static_cast<std::uint32_t>(mine_.from), 4);
  add_number(static_cast<std::uint32_t>(mine_.to), 4);
  add_number(static_cast<std::uint32_t>(mine_.world_size), 4);
  add_number(mine_.incarnation, 8);
  add_number(mine_.argument, 8);
  add(nonce_);
  return {handshake_status::receiving, since(0), wanted()};
}

std::size_t client_handshake::wanted() const noexcept {
  switch (awaited_) {
    case awaited::prelude:
      return prelude_bytes;
    case awaited::challenge:
      return challenge_bytes;
    case awaited::verdict:
      return verdict_bytes;
  }
  return 0;
}

handshake_step client_handshake::received(std::span<const std::byte> bytes) {
  if (bytes.size() != wanted()) return fail(errc::malformed_message, "the handshake was cut short");
  switch (awaited_) {
    case awaited::prelude:
      return on_prelude(bytes);
    case awaited::challenge:
      return on_challenge(bytes);
    case awaited::verdict:
      break;
  }
  return on_verdict(bytes);
}

handshake_step client_handshake::on_prelude(std::span<const std::byte> bytes) {
  if (!accept_prelude(bytes)) return {};
  awaited_ = awaited::challenge;
  return {handshake_status::receiving, {}, wanted()};
}

handshake_step client_handshake::on_challenge(std::span<const std::byte> bytes) {
  const auto claim = bytes.last(mac_bytes);
  add(bytes.first(bytes.size() - mac_bytes));
  const bool convinced = proves(server_role, claim);
  add(claim);
  const std::size_t start = size();
  if (!convinced) {
    // Tells an honest server what happened, and a false one nothing that it could try keys on.
    add(mac{});
    handshake_step step = fail(errc::authentication_failed, wrong_key);
    step.output = since(start);
    return step;
  }
  server_incarnation_ = number_reader(bytes.subspan(nonce_bytes)).next<std::uint64_t>();
  add(prove(client_role));
  awaited_ = awaited::verdict;
  return {handshake_status::receiving, since(start), wanted()};
}

handshake_step client_handshake::on_verdict(std::span<const std::byte> bytes) {
  add(bytes.first(1));
  if (!proves(verdict_role, bytes.last(mac_bytes)))
    return fail(errc::authentication_failed, "the verdict is not the server's");
  answer_ = static_cast<verdict>(bytes.front());
  if (answer_ > verdict::closing) return fail(errc::malformed_message, "the server's verdict is none that is known");
  return {handshake_status::done, {}, 0};
}

// ---- server

server_handshake::server_handshake(std::string_view job_key, std::uint64_t incarnation, const handshake_nonce& nonce,
                                   std::uint16_t version)
    : handshake(job_key, version), incarnation_(incarnation), nonce_(nonce) {}

handshake_step server_handshake::start() {
  return {handshake_status::receiving, {}, wanted()};
}

std::size_t server_handshake::wanted() const noexcept {
  switch (awaited_) {
    case awaited::prelude:
      return prelude_bytes;
    case awaited::hello:
      return hello_bytes;
    case awaited::proof:
      return mac_bytes;
    case awaited::decision:
      break;
  }
  return 0;
}

handshake_step server_handshake::received(std::span<const std::byte> bytes) {
  if (bytes.size() != wanted()) return fail(errc::malformed_message, "the handshake was cut short");
  switch (awaited_) {
    case awaited::prelude:
      return on_prelude(bytes);
    case awaited::hello:
      return on_hello(bytes);
    case awaited::proof:
      return on_proof(bytes);
    case awaited::decision:
      break;
  }
  return fail(errc::malformed_message, "the client spoke out of turn");
}

handshake_step server_handshake::on_prelude(std::span<const std::byte> bytes) {
  if (!accept_prelude(bytes)) {
    if (size() == 0) return {};  // not weft: it would make nothing of an answer
    const std::size_t start = size();
    add_prelude();
    return {handshake_status::failed, since(start), 0};
  }
  awaited_ = awaited::hello;
  return {handshake_status::receiving, {}, wanted()};
}

handshake_step server_handshake::on_hello(std::span<const std::byte> bytes) {
  add(bytes);
  number_reader numbers(bytes);
  client_.purpose = static_cast<purpose>(numbers.next<std::uint8_t>());
  client_.from = numbers.next<std::int32_t>();
  client_.to = numbers.next<std::int32_t>();
  client_.world_size = numbers.next<std::int32_t>();
  client_.incarnation = numbers.next<std::uint64_t>();
  client_.argument = numbers.next<std::uint64_t>();

  const std::size_t start = size();
  add_prelude();
  add(nonce_);
  add_number(incarnation_, 8);
  add(prove(server_role));
  awaited_ = awaited::proof;
  return {handshake_status::receiving, since(start), wanted()};
}

handshake_step server_handshake::on_proof(std::span<const std::byte> bytes) {
  if (!proves(client_role, bytes)) return fail(errc::authentication_failed, wrong_key);
  add(bytes);
  if (client_.purpose > purpose::rendezvous)
    return fail(errc::malformed_message, "the client's purpose is none that is known");
  awaited_ = awaited::decision;
  return {handshake_status::authenticated, {}, 0};
}

handshake_step server_handshake::decide(verdict what) {
  assert(awaited_ == awaited::decision);
  const std::size_t start = size();
  add_number(static_cast<std::uint8_t>(what), 1);
  add(prove(verdict_role));
  return {handshake_status::done, since(start), 0};
}

}  // namespace weft::detail
