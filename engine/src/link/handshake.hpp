// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <weft/engine/version.hpp>

#include <boost/system/error_code.hpp>

#include <sodium/crypto_auth_hmacsha256.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

/// The two ends of a new connection prove to each other that they hold the key of the job, before anything of variable
/// length is read. No I/O: `handshake_step` says what the caller has to send and to receive.
///
///   client -> server  hello      magic, version; purpose, ranks, world size, incarnation, argument; nonce
///   server -> client  challenge  magic, version; nonce, incarnation; MAC
///   client -> server  proof      MAC, or zeros if the challenge did not convince
///   server -> client  verdict    code; MAC
///
/// Every MAC is an HMAC-SHA-256 with the job's key over the name of what it proves and all that was said before it, so
/// none fits another role, connection or message. Numbers are little-endian.
///
/// Fixed for ever: each side begins with the 8 bytes of `prelude`, four of magic, two of version, two of zeros. A
/// server that meets another version answers with its own prelude and nothing more, so both can name both versions.
namespace weft::detail {

enum class purpose : std::uint8_t {
  peer,        ///< messages between two ranks
  report,      ///< matches, from a rank to the sequencer
  log,         ///< the log, from the sequencer to a launch thread
  device,      ///< a channel between two launch threads
  rendezvous,  ///< joining
};

/// Who the client is and what it wants.
struct hello {
  detail::purpose purpose = detail::purpose::peer;
  std::int32_t from = 0;
  std::int32_t to = 0;
  std::int32_t world_size = 0;
  std::uint64_t incarnation = 0;  ///< of `from`
  std::uint64_t argument = 0;     ///< means what the purpose makes of it

  friend bool operator==(const hello&, const hello&) = default;
};

/// A server's answer to a client that is authenticated.
enum class verdict : std::uint8_t {
  accepted,
  busy,                 ///< the other end's own attempt stands, or the link is there already
  wrong_rank,           ///< this is not the rank that was asked for, or the client cannot be the rank it says
  wrong_world_size,     ///< the two are not of one job
  unknown_incarnation,  ///< the client was replaced or given up, or is
  wrong_purpose,        ///< nobody here serves that
  closing,              ///< the server is about to leave
};

[[nodiscard]] std::string_view describe(verdict what) noexcept;

constexpr std::size_t nonce_bytes = 32;
using handshake_nonce = std::array<std::byte, nonce_bytes>;

[[nodiscard]] handshake_nonce make_nonce();

enum class handshake_status : std::uint8_t {
  receiving,      ///< give exactly `bytes_wanted` bytes to `received`
  authenticated,  ///< of a server: call `decide`
  done,           ///< the rest of the connection belongs to its users
  failed,         ///< close it
};

/// What to do now: send `output` whole (it may be empty, and stays valid until the next call), then as `status` says.
struct handshake_step {
  handshake_status status = handshake_status::failed;
  std::span<const std::byte> output;
  std::size_t bytes_wanted = 0;
};

/// What both sides have in common.
class handshake {
 public:
  handshake(const handshake&) = delete;
  handshake& operator=(const handshake&) = delete;

  /// Why it failed: `authentication_failed`, `protocol_mismatch` or `malformed_message`.
  [[nodiscard]] const boost::system::error_code& code() const noexcept { return code_; }
  /// One sentence that goes with `code`.
  [[nodiscard]] const std::string& reason() const noexcept { return reason_; }

 protected:
  using mac = std::array<std::byte, crypto_auth_hmacsha256_BYTES>;

  handshake(std::string_view job_key, std::uint16_t version);
  ~handshake();

  [[nodiscard]] mac prove(std::string_view role) const;
  [[nodiscard]] bool proves(std::string_view role, std::span<const std::byte> claim) const;
  /// Checks the other side's first bytes. False: the handshake has failed.
  [[nodiscard]] bool accept_prelude(std::span<const std::byte> bytes);
  [[nodiscard]] handshake_step fail(const boost::system::error_code& code, std::string reason);

  // The transcript: all that either side has said, which is also where output is kept.
  void add(std::span<const std::byte> bytes);
  void add_number(std::uint64_t value, std::size_t bytes);
  void add_prelude();
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] std::span<const std::byte> since(std::size_t start) const noexcept {
    return std::span(transcript_).subspan(start, size_ - start);
  }

 private:
  static constexpr std::size_t largest_transcript = 256;

  crypto_auth_hmacsha256_state keyed_;  ///< so that the key itself is not kept
  std::array<std::byte, largest_transcript> transcript_{};
  std::size_t size_ = 0;
  std::uint16_t version_;
  boost::system::error_code code_;
  std::string reason_;
};

class client_handshake : public handshake {
 public:
  /// `version` is another than our own in tests only.
  client_handshake(std::string_view job_key, const hello& mine, const handshake_nonce& nonce,
                   std::uint16_t version = wire_protocol_version);

  [[nodiscard]] handshake_step start();
  [[nodiscard]] handshake_step received(std::span<const std::byte> bytes);

  /// Once it is done.
  [[nodiscard]] verdict answer() const noexcept { return answer_; }
  [[nodiscard]] std::uint64_t server_incarnation() const noexcept { return server_incarnation_; }

 private:
  enum class awaited : std::uint8_t { prelude, challenge, verdict };

  [[nodiscard]] handshake_step on_prelude(std::span<const std::byte> bytes);
  [[nodiscard]] handshake_step on_challenge(std::span<const std::byte> bytes);
  [[nodiscard]] handshake_step on_verdict(std::span<const std::byte> bytes);
  [[nodiscard]] std::size_t wanted() const noexcept;

  hello mine_;
  handshake_nonce nonce_;
  awaited awaited_ = awaited::prelude;
  std::uint64_t server_incarnation_ = 0;
  verdict answer_ = verdict::closing;
};

class server_handshake : public handshake {
 public:
  server_handshake(std::string_view job_key, std::uint64_t incarnation, const handshake_nonce& nonce,
                   std::uint16_t version = wire_protocol_version);

  [[nodiscard]] handshake_step start();
  [[nodiscard]] handshake_step received(std::span<const std::byte> bytes);
  /// After `authenticated`.
  [[nodiscard]] handshake_step decide(verdict what);

  /// From `authenticated` on.
  [[nodiscard]] const hello& client() const noexcept { return client_; }

 private:
  enum class awaited : std::uint8_t { prelude, hello, proof, decision };

  [[nodiscard]] handshake_step on_prelude(std::span<const std::byte> bytes);
  [[nodiscard]] handshake_step on_hello(std::span<const std::byte> bytes);
  [[nodiscard]] handshake_step on_proof(std::span<const std::byte> bytes);
  [[nodiscard]] std::size_t wanted() const noexcept;

  std::uint64_t incarnation_;
  handshake_nonce nonce_;
  awaited awaited_ = awaited::prelude;
  hello client_;
};

}  // namespace weft::detail
