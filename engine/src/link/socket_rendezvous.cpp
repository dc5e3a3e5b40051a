// SPDX-License-Identifier: Apache-2.0
#include "link/socket_rendezvous.hpp"

#include "link/connect.hpp"
#include "link/gathering.hpp"
#include "link/rank_list.hpp"
#include "link/reminder.hpp"

#include <weft/engine/error.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <unistd.h>

#include <array>
#include <optional>
#include <utility>

namespace weft {
namespace detail {
namespace {

namespace asio = boost::asio;
using std::chrono::milliseconds;
using clock = std::chrono::steady_clock;
using card_list = std::vector<std::string>;

// Rank 0 tells all at the earliest deadline; its word needs that long to come at most.
constexpr milliseconds word_under_way{500};

std::string this_process() {
  std::array<char, 256> host{};
  if (::gethostname(host.data(), host.size() - 1) != 0) host = {"an unknown host"};
  return "process " + std::to_string(::getpid()) + " on " + host.data();
}

/// Where rank 0 really listens. Loopback TCP cannot tell users apart, so without a key a Unix socket takes its place,
/// which can. The user is part of the name, so that users do not get into each other's way.
address realize(const address& given, bool has_key) {
  if (has_key || given.family == address_family::unix_socket) return given;
  if (!given.is_loopback())
    throw error(errc::job_key_required, "rendezvous \"" + given.text() +
                                            "\" is not on this host only, so it needs a job key: set WEFT_JOB_KEY to "
                                            "one secret on all ranks, or meet at localhost");
  const std::string host = given.host == "localhost" ? "127.0.0.1" : given.host;
  return address::of_unix("weft-" + std::to_string(::geteuid()) + "-" + address::of_tcp(host, given.port).text());
}

address parse_meeting_place(const std::string& text) {
  address given = address::parse(text);
  if (given.family == address_family::tcp && given.port == 0)
    throw error(errc::address_unusable,
                "rendezvous \"" + text + "\": a port other than 0 is needed, the same on all ranks");
  return given;
}

class socket_rendezvous final : public rendezvous {
 public:
  socket_rendezvous(const std::string& text, std::string job_key, std::function<void(std::string)> report,
                    milliseconds remind_after)
      : given_(parse_meeting_place(text)),
        real_(realize(given_, !job_key.empty())),
        secret_{.job_key = std::move(job_key)},
        report_(std::move(report)),
        remind_after_(remind_after) {}

  asio::awaitable<card_list> exchange(int rank, int world_size, std::string card, milliseconds timeout) override {
    check_contribution(rank, world_size, card);
    // A strand of its own, where deadlines and connections meet.
    const asio::any_io_executor executor = co_await asio::this_coro::executor;
    const asio::any_io_executor strand = asio::make_strand(executor);
    const contribution own{this_process(), std::move(card), timeout};
    auto part = rank == 0 ? host(strand, world_size, own) : visit(strand, rank, world_size, own);
    card_list cards = co_await asio::co_spawn(strand, std::move(part), asio::use_awaitable);
    co_return cards;
  }

 private:
  // ---- rank 0

  asio::awaitable<card_list> host(asio::any_io_executor strand, int world_size, const contribution& own) {
    const auto meeting = std::make_shared<gathering>(strand, world_size, own);
    const hang_up guard{*meeting};
    std::optional<acceptor> door;
    open(door, strand, meeting);
    std::function<void()> remind;
    if (report_) remind = [this, &meeting] { report_("rendezvous: still waiting for " + meeting->missing()); };
    {
      const reminder nag(strand, remind_after_, std::move(remind));
      co_await meeting->wait();
    }
    door.reset();
    reply result = co_await meeting->conclude();
    co_return cards_of(std::move(result));
  }

  void open(std::optional<acceptor>& door, const asio::any_io_executor& strand,
            const std::shared_ptr<gathering>& meeting) const {
    const acceptor_callbacks callbacks{
        .admit =
            [](const hello& from) {
              return from.purpose == purpose::rendezvous ? verdict::accepted : verdict::wrong_purpose;
            },
        .accepted = [meeting](const hello& from, stream_socket socket) { meeting->take(from, std::move(socket)); },
        .report =
            [meeting, report = report_](std::string text) {
              meeting->note(text);
              if (report) report(std::move(text));
            },
    };
    try {
      door.emplace(strand, real_, secret_, callbacks);
    } catch (const error& problem) {
      if (problem.code() != errc::address_in_use) throw;
      throw error(errc::address_in_use, "rendezvous \"" + given_.text() +
                                            "\": another process listens there; is another job running, or another "
                                            "process rank 0 of this one?");
    }
  }

  /// However rank 0 ends, nobody goes on waiting for it.
  class hang_up {
   public:
    explicit hang_up(gathering& meeting) : meeting_(meeting) {}
    hang_up(const hang_up&) = delete;
    hang_up& operator=(const hang_up&) = delete;
    ~hang_up() { meeting_.abandon(); }

   private:
    gathering& meeting_;
  };

  // ---- the others

  asio::awaitable<card_list> visit(asio::any_io_executor strand, int rank, int world_size, const contribution& own) {
    const clock::time_point deadline = clock::now() + own.patience;
    std::optional<connection> made;
    std::function<void()> remind;
    if (report_)
      remind = [this] { report_("rendezvous \"" + given_.text() + "\": still waiting for rank 0 to listen there"); };
    try {
      const reminder nag(strand, remind_after_, std::move(remind));
      const hello mine{.purpose = purpose::rendezvous, .from = rank, .world_size = world_size};
      made = co_await connect_authenticated(real_, secret_, mine, own.patience, absent_listener::is_awaited);
    } catch (const error& problem) {
      if (problem.code() == errc::timed_out) throw_without_rank_0(problem);
      throw;
    }
    timed_stream stream(std::move(made->socket), strand, deadline + word_under_way);
    contribution remaining = own;
    remaining.patience = std::chrono::duration_cast<milliseconds>(deadline - clock::now());
    reply result = co_await ask(stream, encode(remaining), world_size);
    co_return cards_of(std::move(result));
  }

  asio::awaitable<reply> ask(timed_stream& stream, std::vector<std::byte> question, int world_size) const {
    reply result;
    try {
      co_await stream.write(question);
      result = co_await read_reply(stream, world_size);
    } catch (const error&) {
      throw;
    } catch (const boost::system::system_error& problem) {
      if (stream.expired())
        throw error(errc::rendezvous_timed_out, "rendezvous \"" + given_.text() + "\": rank 0 has not answered");
      if (problem.code() == asio::error::operation_aborted) throw;
      throw error(errc::peer_lost, "rendezvous \"" + given_.text() + "\": rank 0 has left before all ranks had joined");
    }
    co_return result;
  }

  [[noreturn]] void throw_without_rank_0(const error& problem) const {
    throw error(errc::rendezvous_timed_out,
                "rendezvous \"" + given_.text() + "\": rank 0 did not come: " + problem.what());
  }

  static card_list cards_of(reply result) {
    switch (result.kind) {
      case reply_kind::conflict:
        throw error(errc::rendezvous_conflict, "rendezvous: " + result.texts.front());
      case reply_kind::timed_out:
        throw error(errc::rendezvous_timed_out, result.texts.front());
      case reply_kind::cards:
        break;
    }
    return std::move(result.texts);
  }

  address given_;
  address real_;
  credentials secret_;
  std::function<void(std::string)> report_;
  milliseconds remind_after_;
};

}  // namespace

std::shared_ptr<rendezvous> make_socket_rendezvous(std::string address, std::string job_key,
                                                   std::function<void(std::string)> report, milliseconds remind_after) {
  return std::make_shared<socket_rendezvous>(address, std::move(job_key), std::move(report), remind_after);
}

}  // namespace detail

std::shared_ptr<rendezvous> make_socket_rendezvous(std::string address, std::string job_key) {
  return detail::make_socket_rendezvous(std::move(address), std::move(job_key), {});
}

}  // namespace weft
