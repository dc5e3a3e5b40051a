// SPDX-License-Identifier: Apache-2.0
// Open MPI or MPICH, whichever mpicxx compiles it: MPI_Send and MPI_Recv; in streams MPI_Isend and MPI_Irecv.
// Started by mpirun. Mode: the name of what carries the messages, for the figures.
#include "blocking.hpp"

// Not the C++ bindings that MPI has given up.
#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

namespace {

using namespace peers;

class mpi_end {
 public:
  explicit mpi_end(int other) : other_(other) { requests_.fill(MPI_REQUEST_NULL); }

  void send(const_bytes message) { MPI_Send(message.data(), count(message), MPI_BYTE, other_, 0, MPI_COMM_WORLD); }
  void receive(bytes message) {
    MPI_Recv(message.data(), count(message), MPI_BYTE, other_, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }

  void start_send(std::size_t slot, const_bytes message) {
    MPI_Isend(message.data(), count(message), MPI_BYTE, other_, 0, MPI_COMM_WORLD, &requests_[slot]);
  }
  void start_receive(std::size_t slot, bytes message) {
    MPI_Irecv(message.data(), count(message), MPI_BYTE, other_, 0, MPI_COMM_WORLD, &requests_[slot]);
  }
  void finish_send(std::size_t slot) { MPI_Wait(&requests_[slot], MPI_STATUS_IGNORE); }
  void finish_receive(std::size_t slot) { MPI_Wait(&requests_[slot], MPI_STATUS_IGNORE); }

 private:
  static int count(const_bytes message) { return static_cast<int>(message.size()); }

  int other_;
  std::array<MPI_Request, 64> requests_;
};

/// MPI's own shared memory.
shared_page& page_of_both(int rank) {
  MPI_Win window = MPI_WIN_NULL;
  void* memory = nullptr;
  MPI_Aint size = rank == 0 ? sizeof(shared_page) : 0;
  int unit = 1;
  MPI_Win_allocate_shared(size, unit, MPI_INFO_NULL, MPI_COMM_WORLD, static_cast<void*>(&memory), &window);
  MPI_Win_shared_query(window, 0, &size, &unit, static_cast<void*>(&memory));
  if (rank == 0) new (memory) shared_page;
  MPI_Barrier(MPI_COMM_WORLD);
  return *static_cast<shared_page*>(memory);
}

std::string version_text() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
  int length = 0;
  MPI_Get_library_version(text.data(), &length);
  const std::string all(text.data());
  const std::size_t begin = all.find_first_of("0123456789");  // "Open MPI v4.1.4, ...", "MPICH Version:   4.0.2 ..."
  return all.substr(begin, all.find_first_not_of("0123456789.", begin) - begin);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const job asked = parse_job(argc, argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const process own(rank, page_of_both(rank));
  mpi_end end(own.other());
  exchange all(asked, own);
#ifdef OPEN_MPI
  measure_blocking("Open MPI", version_text(), end, all);
#else
  measure_blocking("MPICH", version_text(), end, all);
#endif
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
}
