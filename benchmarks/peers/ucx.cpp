// SPDX-License-Identifier: Apache-2.0
// UCX's tagged messages. Modes: poll (for ever), armed (sleeps on its file descriptor when there is nothing to do).
// UCX_TLS says what carries them.
#include "blocking.hpp"

#include <ucp/api/ucp.h>

#include <poll.h>

namespace {

using namespace peers;

void check(ucs_status_t status, const char* what) {
  if (status != UCS_OK) throw std::runtime_error(std::string(what) + ": " + ucs_status_string(status));
}

ucp_context_h make_context(bool armed) {
  ucp_params_t wanted{};
  wanted.field_mask = UCP_PARAM_FIELD_FEATURES;
  wanted.features = UCP_FEATURE_TAG | (armed ? UCP_FEATURE_WAKEUP : 0);
  ucp_context_h context = nullptr;
  check(ucp_init(&wanted, nullptr, &context), "ucp_init");
  return context;
}

ucp_worker_h make_worker(ucp_context_h context) {
  ucp_worker_params_t wanted{};
  wanted.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
  wanted.thread_mode = UCS_THREAD_MODE_SINGLE;
  ucp_worker_h worker = nullptr;
  check(ucp_worker_create(context, &wanted, &worker), "ucp_worker_create");
  return worker;
}

ucp_ep_h connect(ucp_worker_h worker, process own) {
  ucp_address_t* address = nullptr;
  std::size_t size = 0;
  check(ucp_worker_get_address(worker, &address, &size), "ucp_worker_get_address");
  auto& addresses = own.page().addresses;
  if (size > addresses[0].size()) throw std::runtime_error("UCX's address is longer than the page has room for");
  std::memcpy(addresses[own.rank()].data(), address, size);
  own.meet();
  ucp_ep_params_t wanted{};
  wanted.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS;
  wanted.address = reinterpret_cast<const ucp_address_t*>(addresses[own.other()].data());
  ucp_ep_h endpoint = nullptr;
  check(ucp_ep_create(worker, &wanted, &endpoint), "ucp_ep_create");
  return endpoint;
}

class ucx_end {
 public:
  ucx_end(process own, bool armed) : worker_(make_worker(make_context(armed))), endpoint_(connect(worker_, own)) {
    if (armed) check(ucp_worker_get_efd(worker_, &event_), "ucp_worker_get_efd");
  }

  void start_send(std::size_t slot, const_bytes message) {
    const ucp_request_param_t plain{};
    requests_[slot] = ucp_tag_send_nbx(endpoint_, message.data(), message.size(), 0, &plain);
  }
  void start_receive(std::size_t slot, bytes message) {
    const ucp_request_param_t plain{};
    requests_[slot] = ucp_tag_recv_nbx(worker_, message.data(), message.size(), 0, 0, &plain);
  }
  void finish_send(std::size_t slot) { finish(requests_[slot]); }
  void finish_receive(std::size_t slot) { finish(requests_[slot]); }

  // Beyond the slots of a stream, which may be under way.
  void send(const_bytes message) {
    start_send(in_turn, message);
    finish_send(in_turn);
  }
  void receive(bytes message) {
    start_receive(in_turn, message);
    finish_receive(in_turn);
  }

 private:
  static constexpr std::size_t in_turn = 64;

  void finish(void* request) {
    if (request == nullptr) return;  // it was done at once
    if (UCS_PTR_IS_ERR(request)) check(UCS_PTR_STATUS(request), "UCX");
    while (ucp_request_check_status(request) == UCS_INPROGRESS)
      if (ucp_worker_progress(worker_) == 0 && event_ >= 0) sleep();
    check(ucp_request_check_status(request), "UCX");
    ucp_request_free(request);
  }

  void sleep() {
    const ucs_status_t status = ucp_worker_arm(worker_);
    if (status == UCS_ERR_BUSY) return;
    check(status, "ucp_worker_arm");
    pollfd waited{event_, POLLIN, 0};
    poll(&waited, 1, -1);
  }

  ucp_worker_h worker_;
  ucp_ep_h endpoint_;
  int event_ = -1;
  std::array<void*, in_turn + 1> requests_{};
};

}  // namespace

int main(int argc, char** argv) {
  const job asked = parse_job(argc, argv);
  const process own = fork_in_two();
  exchange all(asked, own);
  ucx_end end(all.own, asked.mode == "armed");
  measure_blocking("UCX", ucp_get_version_string(), end, all);
  leave(all.own);
}
