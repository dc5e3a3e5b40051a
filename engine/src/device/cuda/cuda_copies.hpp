// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "device/cuda/cuda_result.hpp"
#include "memory_cursor.hpp"

#include <cstddef>
#include <cstdint>
#include <list>
#include <optional>
#include <utility>
#include <vector>

namespace weft::detail {

/// One message between memory of the device and ordinary memory of the host, of the same size.
struct host_copy {
  std::uint64_t name = 0;
  bool to_host = false;
  std::vector<memory_piece> device;
  std::vector<memory_piece> host;
};

/// Copies messages one after the other, through a chunk of pinned memory, on a stream of their own: each ends by
/// itself, whatever the kernels of transfers wait for. Not for several threads at a time.
class cuda_copies {
 public:
  /// The calling thread has chosen the device. Throws where CUDA has not so much pinned memory.
  explicit cuda_copies(std::size_t chunk_bytes);
  cuda_copies(const cuda_copies&) = delete;
  cuda_copies& operator=(const cuda_copies&) = delete;
  ~cuda_copies();

  void add(host_copy wanted);
  /// Ends one early. True: its memory is touched until a message of `last_name` is over.
  [[nodiscard]] bool forget(std::uint64_t name, std::uint64_t last_name);
  [[nodiscard]] bool is_touching() const noexcept;
  [[nodiscard]] bool empty() const noexcept { return jobs_.empty(); }

  /// Goes on as far as it can without waiting. The name and the code of the next message that is over, if any.
  [[nodiscard]] std::optional<std::pair<std::uint64_t, cudaError_t>> advance();

 private:
  struct job {
    explicit job(host_copy wanted) : what(std::move(wanted)), host(what.host) {}
    job(const job&) = delete;
    job& operator=(const job&) = delete;

    host_copy what;
    memory_cursor host;      ///< where the next chunk goes to or comes from
    std::size_t piece = 0;   ///< of device memory, where the next chunk is
    std::size_t offset = 0;  ///< within that piece
  };

  [[nodiscard]] static bool has_more(job& of);
  [[nodiscard]] cudaError_t start_chunk(job& of);
  [[nodiscard]] cudaError_t end_chunk(job& of);
  std::pair<std::uint64_t, cudaError_t> end_front(cudaError_t code);

  std::size_t chunk_bytes_;
  std::byte* chunk_ = nullptr;
  cudaStream_t stream_ = nullptr;
  cudaEvent_t event_ = nullptr;
  std::size_t under_way_ = 0;  ///< bytes of the first job's
  std::list<job> jobs_;        ///< each refers to its own pieces
};

}  // namespace weft::detail
