// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <weft/engine/operation_details.hpp>

#include <boost/system/error_code.hpp>
#include <boost/system/system_error.hpp>

#include <string>

namespace weft {

/// Everything that can go wrong by name. Unless said otherwise the engine, its links and its communicators survive
/// the error, and no other operation is touched.
enum class errc {
  // The call itself is wrong: nothing was started.
  rank_out_of_range = 1,  ///< the peer named is no rank of the group
  null_buffer,            ///< a buffer of non-zero size has no address
  memory_mismatch,        ///< the views of one message lie in different kinds of memory, or on another device
  invalid_option,         ///< an option has a value that it cannot take
  not_joined,             ///< the engine has not joined a group

  // The two ends disagree: both operations fail.
  size_mismatch,          ///< the receive buffer is shorter or longer than the message
  element_type_mismatch,  ///< the elements of the two buffers differ in type
  object_type_mismatch,   ///< the object types differ (compared by fingerprint)
  kind_mismatch,          ///< objects met a buffer
  message_too_large,      ///< the message exceeds a limit of the receiver
  too_many_unmatched,     ///< the receiver holds `max_unmatched` envelopes

  unserializable,  ///< an object refused to be serialized: nothing was sent

  // Bytes that came from a peer cannot be understood.
  malformed_frame,  ///< an object frame does not decode; the link is kept

  // The operation was ended.
  cancelled,  ///< by its cancellation slot
  timed_out,  ///< by its own or the set-up's deadline
  closed,     ///< by the close of this engine

  // A rank went away.
  peer_lost,         ///< its link broke without a goodbye; other ranks go on
  peer_left,         ///< it closed its engine and said goodbye
  transfer_aborted,  ///< the transfer had been launched: whether it arrived is unknown, and its ends may disagree
  sequencer_lost,    ///< rank 0 is gone: `device` and `pair` are unusable, `inline` and `host` go on
  set_up_failed,     ///< a communicator could not be created or connected

  // Joining.
  bad_environment,        ///< a variable is missing, malformed, or contradicts another
  address_in_use,         ///< another process listens at that address
  address_unusable,       ///< an address does not parse, does not resolve, or refuses to be bound
  rendezvous_timed_out,   ///< some ranks did not join before the deadline
  rendezvous_conflict,    ///< two ranks with one number, or different world sizes
  authentication_failed,  ///< the other end holds another job key
  protocol_mismatch,      ///< the other end speaks another version of the wire protocol
  job_key_required,       ///< a transport that leaves this host needs a job key
  device_unavailable,     ///< the device that was asked for cannot be used
  malformed_message,      ///< a link carried bytes that are no message: the link is closed
  already_joined,         ///< an engine joins once; it does not join again after a failure or a close

  already_started,  ///< an operation starts once: this one was started or moved from before

  device_failed,  ///< the work that the operation waited for (`after`) ended with an error of CUDA's

  refused,    ///< the receiver looked at the message and refused it; the reason is its own
  withdrawn,  ///< the sender took the message back before the receiver had decided about it
};

/// The category of `errc`, named "weft".
[[nodiscard]] const boost::system::error_category& engine_category() noexcept;

/// The code of an `errc`. Boost calls it where one is assigned to an error_code, or compared with one.
[[nodiscard]] boost::system::error_code make_error_code(errc code) noexcept;

/// Thrown by `co_await` and by constructors. `what()` says the operation, what was given and what was expected.
class error : public boost::system::system_error {
 public:
  /// An operation failed: the text is made from its details.
  error(boost::system::error_code code, const operation_details& details);
  /// Something outside of an operation failed (joining, options, environment).
  error(boost::system::error_code code, const std::string& text);

  /// One sentence: what failed, with the details that there are. The name of the code is not repeated behind it.
  [[nodiscard]] const char* what() const noexcept override;

  /// Operation, peer, tag, bytes and phase; `operation_kind::none` outside of operations.
  [[nodiscard]] const operation_details& details() const noexcept { return details_; }

 private:
  operation_details details_;
  std::string sentence_;
};

}  // namespace weft

template <>
struct boost::system::is_error_code_enum<weft::errc> : std::true_type {};
