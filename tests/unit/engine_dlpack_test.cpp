// SPDX-License-Identifier: Apache-2.0
#include "ranks.hpp"
#include "waiting.hpp"

#include <weft/engine/dlpack.hpp>

#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace asio = boost::asio;
using weft::testing::run_ranks;
using weft::testing::with_code;

namespace {

/// A tensor over memory of the test's.
struct tensor_of {
  template <class T>
  tensor_of(std::vector<T>& memory, DLDataType type, std::vector<std::int64_t> lengths,
            std::vector<std::int64_t> steps = {})
      : shape(std::move(lengths)), strides(std::move(steps)) {
    tensor.data = memory.data();
    tensor.device = {kDLCPU, 0};
    tensor.ndim = static_cast<int>(shape.size());
    tensor.dtype = type;
    tensor.shape = shape.data();
    tensor.strides = strides.empty() ? nullptr : strides.data();
  }
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides;
  DLTensor tensor{};
};

constexpr DLDataType floats{kDLFloat, 32, 1};

/// Why a tensor is refused; empty if it is not.
std::string refusal_of(const DLTensor& tensor) {
  try {
    (void)weft::view_of(tensor);
  } catch (const weft::error& refused) {
    CHECK(refused.code() == weft::errc::invalid_option);
    return refused.what();
  }
  return {};
}

}  // namespace

TEST_CASE("tensors are sent and received in place, whatever their shapes") {
  run_ranks(1, [](weft::communicator comm) -> asio::awaitable<void> {
    using namespace asio::experimental::awaitable_operators;
    std::vector<float> from{1, 2, 3, 4, 5, 6};
    std::vector<float> to(7);
    const tensor_of sent(from, floats, {2, 3}, {3, 1});
    tensor_of received(to, floats, {3, 1, 2}, {2, 77, 1});  // of a length of 1 the step does not matter
    received.tensor.byte_offset = sizeof(float);
    co_await (comm.send(weft::view_of(sent.tensor), weft::to(0, 1))(asio::use_awaitable) &&
              comm.recv(weft::view_of(received.tensor), weft::from(0, 1))(asio::use_awaitable));
    const std::vector<float> expected{0, 1, 2, 3, 4, 5, 6};
    CHECK(to == expected);
  });
}

TEST_CASE("every element type stands for one of DLPack's and back") {
  std::vector<std::byte> memory(64);
  for (const auto& one : weft::detail::dlpack_elements) {
    const tensor_of two(memory, {one.code, one.bits, 1}, {2});
    CHECK(weft::view_of(two.tensor).element == one.element);
    CHECK(weft::view_of(two.tensor).size == 2U * one.bits / 8);
    CHECK(weft::detail::data_type_of(one.element).code == one.code);
    CHECK(weft::detail::data_type_of(one.element).bits == one.bits);
  }
  CHECK(weft::detail::dlpack_elements.size() == static_cast<std::size_t>(weft::element_type::c128) + 1);
}

TEST_CASE("a tensor's memory is told by its device") {
  std::vector<float> memory(4);
  tensor_of four(memory, floats, {4});
  four.tensor.device = {kDLCUDA, 3};
  CHECK(weft::view_of(four.tensor).memory == weft::memory_kind::device);
  CHECK(weft::view_of(four.tensor).ordinal == 3);
  four.tensor.device = {kDLCUDAHost, 0};
  CHECK(weft::view_of(four.tensor).memory == weft::memory_kind::pinned);
  tensor_of nowhere(memory, floats, {4});
  nowhere.tensor.data = nullptr;
  nowhere.tensor.byte_offset = 16;
  CHECK(weft::view_of(nowhere.tensor).data == nullptr);
  const tensor_of huge(memory, floats, {0, INT64_MAX, INT64_MAX});
  CHECK(weft::view_of(huge.tensor).size == 0);
  const tensor_of none(memory, floats, {3, 0});
  CHECK(weft::view_of(none.tensor).size == 0);
  const tensor_of scalar(memory, floats, {});
  CHECK(weft::view_of(scalar.tensor).size == sizeof(float));
}

TEST_CASE("tensors that are no buffer are refused by name") {
  std::vector<float> memory(12);
  const auto contains = [](const std::string& text, const char* what) { return text.find(what) != std::string::npos; };
  CHECK(contains(refusal_of(tensor_of(memory, floats, {3, 4}, {1, 3}).tensor), "make it contiguous"));
  CHECK(contains(refusal_of(tensor_of(memory, floats, {3, 3}, {4, 1}).tensor), "make it contiguous"));
  CHECK(contains(refusal_of(tensor_of(memory, {kDLFloat, 32, 4}, {3}).tensor), "4 lanes"));
  CHECK(contains(refusal_of(tensor_of(memory, {kDLFloat, 8, 1}, {3}).tensor), "type code 2 with 8 bits"));
  CHECK(contains(refusal_of(tensor_of(memory, floats, {3, -1}).tensor), "length -1"));
  CHECK(contains(refusal_of(tensor_of(memory, floats, {INT64_MAX, 4}).tensor), "more elements than any memory"));
  tensor_of elsewhere(memory, floats, {3});
  elsewhere.tensor.device = {kDLCUDA, 65536};
  CHECK(contains(refusal_of(elsewhere.tensor), "device 65536"));
  tensor_of odd(memory, floats, {3, -1, 0});
  CHECK(contains(refusal_of(odd.tensor), "length -1"));
  odd.tensor.ndim = -3;
  CHECK(contains(refusal_of(odd.tensor), "-3 dimensions"));
  elsewhere.tensor.device = {kDLROCM, 0};
  CHECK(contains(refusal_of(elsewhere.tensor), "device of type 10"));
}

TEST_CASE("a tensor of a GPU that the engine is not on is refused by name") {
  run_ranks(1, [](weft::communicator comm) -> asio::awaitable<void> {
    std::vector<float> memory(4);
    tensor_of elsewhere(memory, floats, {4});
    elsewhere.tensor.device = {kDLCUDA, 3};
    auto [code, result] = co_await comm.send(weft::view_of(elsewhere.tensor), weft::to(0, 1))(with_code);
    CHECK(code == weft::errc::memory_mismatch);
    CHECK(result.details.reason.find("of device 3") != std::string::npos);
  });
}

TEST_CASE("a buffer that is given away as a tensor lives until the tensor is deleted") {
  run_ranks(1, [](weft::communicator comm) -> asio::awaitable<void> {
    weft::device_buffer buffer = comm.device_buffer(24, weft::element_type::f32);
    const std::array<std::int64_t, 2> shape{2, 3};
    DLManagedTensor* const given = weft::to_dlpack(buffer, shape);
    CHECK(given->dl_tensor.data == buffer.data());
    CHECK(given->dl_tensor.ndim == 2);
    CHECK(given->dl_tensor.shape[1] == 3);
    CHECK(given->dl_tensor.device.device_type == kDLCPU);  // of the host device
    CHECK(given->dl_tensor.device.device_id == 0);
    CHECK(weft::view_of(given->dl_tensor).size == 24);
    buffer = {};
    static_cast<float*>(given->dl_tensor.data)[5] = 1;  // a sanitizer would tell
    given->deleter(given);
    CHECK_THROWS_AS((void)weft::to_dlpack(comm.device_buffer(24, weft::element_type::f32), std::span(shape).first(1)),
                    weft::error);
    CHECK_THROWS_AS((void)weft::to_dlpack(comm.device_buffer(10, weft::element_type::f32)), weft::error);
    DLManagedTensor* const empty = weft::to_dlpack(comm.device_buffer(0, weft::element_type::f32));
    CHECK(empty->dl_tensor.dtype.bits == 32);
    empty->deleter(empty);
    co_return;
  });
}
