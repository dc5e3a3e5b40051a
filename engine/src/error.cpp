// SPDX-License-Identifier: Apache-2.0
#include <weft/engine/error.hpp>

namespace weft {
namespace {

const char* text_of(errc code) noexcept {
  switch (code) {
    case errc::rank_out_of_range:
      return "the rank is not in the group";
    case errc::memory_mismatch:
      return "the message lies in memory of several kinds, of another device, or of a kind that its route does not "
             "reach";
    case errc::null_buffer:
      return "a buffer of non-zero size has no address";
    case errc::invalid_option:
      return "an option has a value that it cannot take";
    case errc::not_joined:
      return "the engine is not part of a group: join it first, and use it before closing it";
    case errc::size_mismatch:
      return "the message and the receive buffer differ in size";
    case errc::element_type_mismatch:
      return "the element types of the two ends differ";
    case errc::object_type_mismatch:
      return "the object types of the two ends differ";
    case errc::kind_mismatch:
      return "one end has objects, the other a buffer";
    case errc::message_too_large:
      return "the message is larger than a limit allows";
    case errc::too_many_unmatched:
      return "the receiver holds as many unmatched messages as it allows";
    case errc::unserializable:
      return "the object could not be serialized";
    case errc::malformed_frame:
      return "the frame does not decode into the objects asked for";
    case errc::cancelled:
      return "cancelled";
    case errc::timed_out:
      return "timed out";
    case errc::closed:
      return "the engine was closed";
    case errc::peer_lost:
      return "the peer was lost";
    case errc::peer_left:
      return "the peer has left";
    case errc::transfer_aborted:
      return "the transfer was aborted after its launch; whether it arrived is unknown";
    case errc::sequencer_lost:
      return "rank 0, which orders device and pair transfers, is gone";
    case errc::set_up_failed:
      return "the communicator could not be set up";
    case errc::bad_environment:
      return "the environment does not describe a rank of a job";
    case errc::address_in_use:
      return "another process listens at the address";
    case errc::address_unusable:
      return "the address cannot be used";
    case errc::rendezvous_timed_out:
      return "some ranks did not join in time";
    case errc::rendezvous_conflict:
      return "the ranks disagree about who they are";
    case errc::authentication_failed:
      return "the other end holds another job key";
    case errc::protocol_mismatch:
      return "the other end speaks another version of the wire protocol";
    case errc::job_key_required:
      return "a job key is needed: set WEFT_JOB_KEY to one secret on all ranks";
    case errc::device_unavailable:
      return "the device that was asked for cannot be used";
    case errc::malformed_message:
      return "a link carried bytes that are no message";
    case errc::already_joined:
      return "the engine has joined before";
    case errc::already_started:
      return "the operation was started before";
    case errc::device_failed:
      return "the device reported an error in the work that the operation waited for";
    case errc::refused:
      return "the receiver refused the message";
    case errc::withdrawn:
      return "the sender took the message back";
  }
  return "unknown error";
}

class engine_error_category final : public boost::system::error_category {
 public:
  /// A number, chosen at random, by which it is the same in a module that has a copy of it.
  constexpr engine_error_category() : error_category(0x8d1f3a5c77e64b29U) {}
  [[nodiscard]] const char* name() const noexcept override { return "weft"; }
  [[nodiscard]] std::string message(int code) const override { return text_of(static_cast<errc>(code)); }
  [[nodiscard]] boost::system::error_condition default_error_condition(int code) const noexcept override {
    namespace generic = boost::system::errc;
    switch (static_cast<errc>(code)) {
      case errc::cancelled:
        return generic::make_error_condition(generic::operation_canceled);
      case errc::timed_out:
        return generic::make_error_condition(generic::timed_out);
      case errc::address_in_use:
        return generic::make_error_condition(generic::address_in_use);
      default:
        return {code, *this};
    }
  }
};

}  // namespace

const boost::system::error_category& engine_category() noexcept {
  static const engine_error_category instance;
  return instance;
}

boost::system::error_code make_error_code(errc code) noexcept {
  return {static_cast<int>(code), engine_category()};
}

error::error(boost::system::error_code code, const operation_details& details)
    : system_error(code), details_(details), sentence_(describe(code, details)) {}

error::error(boost::system::error_code code, const std::string& text)
    : system_error(code, text), details_{}, sentence_(text.empty() ? code.message() : text) {}

const char* error::what() const noexcept {
  return sentence_.c_str();
}

}  // namespace weft
