// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <deque>
#include <memory>
#include <variant>

namespace cuda_model {

struct kernel;

/// One recording of an event: done when the stream gets there.
struct event_record {
  bool done = false;
};

struct event {
  int device = 0;
  unsigned flags = 0;
  std::shared_ptr<event_record> last;  ///< null until recorded, and then it reads as done
};

struct copy_work {
  void* to;
  const void* from;
  std::size_t bytes;
};
struct fill_work {
  void* to;
  int value;
  std::size_t bytes;
};
struct host_function {
  cudaHostFn_t call;
  void* data;
};
struct event_mark {
  std::shared_ptr<event_record> record;
};
struct event_wait {
  std::shared_ptr<event_record> record;
};
/// A kernel of a group stands in each stream that the group names, and is at the front of all of them when it starts.
using kernel_work = std::shared_ptr<kernel>;

using stream_item = std::variant<copy_work, fill_work, host_function, event_mark, event_wait, kernel_work>;

struct stream {
  int device = 0;
  std::deque<stream_item> items;
};

}  // namespace cuda_model
