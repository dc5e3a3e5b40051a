// SPDX-License-Identifier: Apache-2.0
// What a launcher says about this process, in the environment.
#include "link/address.hpp"

#include <weft/engine/error.hpp>
#include <weft/engine/options.hpp>

#include <charconv>
#include <climits>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <utility>

namespace weft {
namespace {

constexpr int largest_port = 65535;

[[noreturn]] void refuse(const std::string& text) {
  throw error(errc::bad_environment, text);
}

std::string quote(const std::string& name, const std::string& value) {
  return name + "=\"" + value + "\"";
}

/// Of weft's own an empty one counts as unset, because a script cannot always unset what it does not want to say. What
/// launchers write is not empty but by mistake.
std::optional<std::string> read(const environment& variable, const char* name) {
  const char* const value = variable(name);
  const bool is_own = std::string_view(name).starts_with("WEFT_");
  if (value == nullptr || (is_own && *value == '\0')) return {};
  return value;
}

/// `purpose` ends the refusal, where the name of the variable does not say what it is for.
std::optional<int> read_number(const environment& variable, const char* name, int lowest, int highest,
                               const char* purpose = "") {
  const auto text = read(variable, name);
  if (!text) return {};
  int value = 0;
  const char* const end = text->data() + text->size();
  const auto [stop, problem] = std::from_chars(text->data(), end, value);
  if (problem == std::errc{} && stop == end && value >= lowest && value <= highest) return value;
  std::string expected = "a whole number from " + std::to_string(lowest);
  if (highest != INT_MAX) expected += " to " + std::to_string(highest);
  refuse(quote(name, *text) + ": expected " + expected + purpose);
}

/// This process' place, as one launcher tells it.
struct place {
  const char* rank_name = nullptr;
  const char* size_name = nullptr;
  int rank = 0;
  int world_size = 1;
};

std::optional<place> read_place(const environment& variable, const char* rank_name, const char* size_name) {
  const auto rank = read_number(variable, rank_name, 0, INT_MAX);
  const auto world_size = read_number(variable, size_name, 1, largest_world_size);
  if (!rank && !world_size) return {};
  if (!rank || !world_size) {
    const char* const present = rank ? rank_name : size_name;
    refuse(quote(present, *read(variable, present)) + " is set, but " + (rank ? size_name : rank_name) +
           " is not: set both or neither");
  }
  if (*rank >= *world_size)
    refuse(quote(rank_name, std::to_string(*rank)) + " is not below " + quote(size_name, std::to_string(*world_size)) +
           ": ranks count from 0");
  return place{rank_name, size_name, *rank, *world_size};
}

void compare(const char* one, int one_value, const char* other, int other_value) {
  if (one_value == other_value) return;
  refuse(quote(one, std::to_string(one_value)) + " contradicts " + quote(other, std::to_string(other_value)) +
         ": unset the one that is not meant");
}

// Slurm speaks last: it numbers what it started itself, which may be other launchers that started the ranks, and it
// tells the number of tasks also in shells that are no task.
std::optional<place> read_slurm(const environment& variable) {
  if (!read(variable, "SLURM_PROCID")) return {};
  return read_place(variable, "SLURM_PROCID", "SLURM_NTASKS");
}

place find_place(const environment& variable) {
  const auto own = read_place(variable, "RANK", "WORLD_SIZE");
  const auto open_mpi = read_place(variable, "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE");
  if (own && open_mpi) {
    compare(own->rank_name, own->rank, open_mpi->rank_name, open_mpi->rank);
    compare(own->size_name, own->world_size, open_mpi->size_name, open_mpi->world_size);
  }
  if (own) return *own;
  if (open_mpi) return *open_mpi;
  return read_slurm(variable).value_or(place{});
}

std::string check_address(const char* name, const std::string& text) {
  try {
    const auto parsed = detail::address::parse(text);
    if (parsed.family == detail::address_family::tcp && parsed.port == 0)
      refuse(quote(name, text) + ": the port must not be 0, because all ranks must know it");
  } catch (const error& problem) {
    if (problem.code() == errc::bad_environment) throw;
    refuse(quote(name, text) + ": " + problem.what());
  }
  return text;
}

// torchrun's own store occupies MASTER_PORT.
std::optional<std::string> beside_torchrun(const environment& variable) {
  const auto host = read(variable, "MASTER_ADDR");
  const auto port = read_number(variable, "MASTER_PORT", 1, largest_port - 1);
  if (!host && !port) return {};
  if (!host || !port)
    refuse(std::string(host ? "MASTER_ADDR" : "MASTER_PORT") + " is set, but " +
           (host ? "MASTER_PORT" : "MASTER_ADDR") + " is not: set both, or set WEFT_RENDEZVOUS=host:port");
  const bool needs_brackets = host->find(':') != std::string::npos && host->front() != '[';
  return check_address("MASTER_ADDR", (needs_brackets ? "[" + *host + "]" : *host) + ":" + std::to_string(*port + 1));
}

std::string find_rendezvous(const environment& variable, const place& here) {
  if (const auto own = read(variable, "WEFT_RENDEZVOUS")) return check_address("WEFT_RENDEZVOUS", *own);
  if (here.world_size == 1) return {};
  if (auto torchrun = beside_torchrun(variable)) return *std::move(torchrun);
  refuse(quote(here.size_name, std::to_string(here.world_size)) +
         " needs a place where the ranks meet: set WEFT_RENDEZVOUS to host:port or unix:name, the same on all ranks");
}

transport find_transport(const environment& variable) {
  const auto text = read(variable, "WEFT_TRANSPORT");
  if (!text || *text == "automatic") return transport::automatic;
  if (*text == "unix") return transport::unix_socket;
  if (*text == "tcp") return transport::tcp;
  refuse(quote("WEFT_TRANSPORT", *text) + ": expected automatic, unix or tcp");
}

std::chrono::microseconds find_spin(const environment& variable) {
  constexpr int longest = longest_spin.count();
  return std::chrono::microseconds(
      read_number(variable, "WEFT_SPIN", 0, longest, " of microseconds, for which links are watched before they sleep")
          .value_or(0));
}

bool find_shared_memory(const environment& variable) {
  const auto text = read(variable, "WEFT_SHARED_MEMORY");
  if (!text || *text == "on") return true;
  if (*text == "off") return false;
  refuse(quote("WEFT_SHARED_MEMORY", *text) + ": expected on or off");
}

device_choice find_device(const environment& variable) {
  const auto text = read(variable, "WEFT_DEVICE");
  if (!text || *text == "automatic") return device_choice::automatic;
  if (*text == "host") return device_choice::host;
  if (*text == "cuda") return device_choice::cuda;
  refuse(quote("WEFT_DEVICE", *text) + ": expected automatic, host or cuda");
}

/// Ranks of one host count its GPUs, unless each sees a single one. Who wants none may have any number.
int find_ordinal(const environment& variable, device_choice device) {
  constexpr int many = 1'000;
  constexpr const char* purpose = ", which GPU this rank takes; set WEFT_DEVICE=host if it takes none";
  if (device == device_choice::host) return 0;
  for (const char* name :
       {"WEFT_DEVICE_ORDINAL", "WEFT_LOCAL_RANK", "LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "SLURM_LOCALID"})
    if (const auto number = read_number(variable, name, 0, many, purpose)) return *number;
  return 0;
}

}  // namespace

engine_options options_from_environment() {
  return options_from_environment([](const char* name) -> const char* { return std::getenv(name); });
}

engine_options options_from_environment(const environment& variable) {
  const place here = find_place(variable);
  engine_options options;
  options.rank = here.rank;
  options.world_size = here.world_size;
  options.rendezvous_address = find_rendezvous(variable, here);
  options.job_key = read(variable, "WEFT_JOB_KEY").value_or("");
  options.transport = find_transport(variable);
  options.shared_memory = find_shared_memory(variable);
  options.spin = find_spin(variable);
  options.device = find_device(variable);
  options.device_ordinal = find_ordinal(variable, options.device);
  return options;
}

}  // namespace weft
