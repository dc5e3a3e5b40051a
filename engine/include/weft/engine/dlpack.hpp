// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <weft/engine/buffer.hpp>
#include <weft/engine/communicator.hpp>
#include <weft/engine/device_buffer.hpp>
#include <weft/engine/error.hpp>

#include <dlpack/dlpack.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

/// Tensors of other libraries, by DLPack (0.6 or later, whose header is needed): PyTorch, JAX, CuPy and others give
/// and take them. Not a part of `weft/weft.hpp`.
namespace weft {
namespace detail {

/// DLPack 0.8 has a name for it, and libraries use the number with earlier headers, too.
inline constexpr std::uint8_t dlpack_bool = 6;

struct dlpack_element {
  element_type element;
  std::uint8_t code;
  std::uint8_t bits;
};
inline constexpr auto dlpack_elements = std::to_array<dlpack_element>({
    {element_type::boolean, dlpack_bool, 8},
    {element_type::i8, kDLInt, 8},
    {element_type::i16, kDLInt, 16},
    {element_type::i32, kDLInt, 32},
    {element_type::i64, kDLInt, 64},
    {element_type::bytes, kDLUInt, 8},
    {element_type::u16, kDLUInt, 16},
    {element_type::u32, kDLUInt, 32},
    {element_type::u64, kDLUInt, 64},
    {element_type::f16, kDLFloat, 16},
    {element_type::bf16, kDLBfloat, 16},
    {element_type::f32, kDLFloat, 32},
    {element_type::f64, kDLFloat, 64},
    {element_type::c64, kDLComplex, 64},
    {element_type::c128, kDLComplex, 128},
});

[[noreturn]] inline void refuse_tensor(const std::string& why) {
  throw error(errc::invalid_option, "a DLPack tensor " + why);
}

[[nodiscard]] inline const dlpack_element& element_of(const DLDataType& type) {
  for (const dlpack_element& one : dlpack_elements)
    if (one.code == type.code && one.bits == type.bits && type.lanes == 1) return one;
  refuse_tensor("has elements of type code " + std::to_string(type.code) + " with " + std::to_string(type.bits) +
                " bits and " + std::to_string(type.lanes) + " lanes, which no element_type stands for");
}

[[nodiscard]] inline memory_kind memory_of(const DLDevice& device) {
  switch (device.device_type) {
    case kDLCPU:
      return memory_kind::host;
    case kDLCUDAHost:
      return memory_kind::pinned;
    case kDLCUDA:
      return memory_kind::device;
    default:
      refuse_tensor("is on a device of type " + std::to_string(device.device_type) +
                    "; give one on the CPU, in pinned memory, or on a CUDA device");
  }
}

[[nodiscard]] inline std::int16_t ordinal_of(const DLDevice& device) {
  if (device.device_id < 0 || device.device_id > std::numeric_limits<std::int16_t>::max())
    refuse_tensor("is on device " + std::to_string(device.device_id) + ", and there is no such ordinal");
  return static_cast<std::int16_t>(device.device_id);
}

/// How many elements it has, all of them one after the other in row-major order.
[[nodiscard]] inline std::uint64_t count_elements(const DLTensor& tensor) {
  if (tensor.ndim < 0) refuse_tensor("has " + std::to_string(tensor.ndim) + " dimensions");
  const std::span<const std::int64_t> lengths(tensor.shape, static_cast<std::size_t>(tensor.ndim));
  for (const std::int64_t length : lengths)
    if (length < 0) refuse_tensor("has a dimension of length " + std::to_string(length));
  if (std::ranges::count(lengths, 0) != 0) return 0;
  std::uint64_t count = 1;
  bool in_order = true;
  for (std::size_t i = lengths.size(); i-- > 0;) {
    const auto length = static_cast<std::uint64_t>(lengths[i]);
    if (tensor.strides != nullptr && length != 1)
      in_order = in_order && tensor.strides[i] == static_cast<std::int64_t>(count);
    if (count > std::numeric_limits<std::uint64_t>::max() / 16 / length)
      refuse_tensor("has more elements than any memory");
    count *= length;
  }
  if (!in_order) refuse_tensor("has gaps, or another order than row-major; make it contiguous before");
  return count;
}

/// What a tensor given away needs to live.
struct given_tensor {
  DLManagedTensor managed{};
  std::vector<std::int64_t> shape;
  std::shared_ptr<device_block> block;
};

[[nodiscard]] inline DLDataType data_type_of(element_type element) {
  const auto found = std::ranges::find(dlpack_elements, element, &dlpack_element::element);  // it has them all
  return {found->code, found->bits, 1};
}

}  // namespace detail

/// The memory of a tensor as one buffer, to send from or to receive into; it stays the tensor's. Throws `weft::error`
/// (`invalid_option`) where the tensor is not contiguous in row-major order, or lies where weft does not reach.
[[nodiscard]] inline buffer_view view_of(const DLTensor& tensor) {
  const detail::dlpack_element& type = detail::element_of(tensor.dtype);
  const std::uint64_t count = detail::count_elements(tensor);
  buffer_view view;
  view.size = count * (type.bits / 8U);
  const bool has_data = count != 0 && tensor.data != nullptr;  // null is refused where it is sent
  view.data = has_data ? static_cast<std::byte*>(tensor.data) + tensor.byte_offset : nullptr;
  view.element = type.element;
  view.memory = detail::memory_of(tensor.device);
  view.ordinal = detail::ordinal_of(tensor.device);
  return view;
}

/// A tensor of one dimension, or of `shape`, in the memory of a buffer; it shares the ownership.
/// Whoever gets it calls its deleter once. Throws `weft::error` (`invalid_option`) where the shape has another number
/// of elements than the buffer. On the host device it is a tensor of the CPU.
[[nodiscard]] inline DLManagedTensor* to_dlpack(const device_buffer& buffer, std::span<const std::int64_t> shape = {}) {
  const DLDataType type = detail::data_type_of(buffer.element());
  const std::size_t element_bytes = type.bits / 8U;
  if (buffer.size() % element_bytes != 0)
    detail::refuse_tensor("of elements of " + std::to_string(element_bytes) + " bytes does not fit a buffer of " +
                          std::to_string(buffer.size()) + " bytes");
  const auto count = static_cast<std::int64_t>(buffer.size() / element_bytes);
  auto given = std::make_unique<detail::given_tensor>();
  given->shape.assign(shape.begin(), shape.end());
  if (shape.empty()) given->shape.push_back(count);
  given->block = buffer.block();
  DLTensor& tensor = given->managed.dl_tensor;
  tensor.data = buffer.data();
  const std::int16_t ordinal = buffer.view().ordinal;
  tensor.device = ordinal == host_device_ordinal ? DLDevice{kDLCPU, 0} : DLDevice{kDLCUDA, ordinal};
  tensor.ndim = static_cast<int>(given->shape.size());
  tensor.dtype = type;
  tensor.shape = given->shape.data();
  if (const std::uint64_t wanted = detail::count_elements(tensor); wanted != static_cast<std::uint64_t>(count))
    detail::refuse_tensor("of " + std::to_string(wanted) + " elements does not fit a buffer of " +
                          std::to_string(count));
  given->managed.manager_ctx = given.get();
  given->managed.deleter = [](DLManagedTensor* self) { delete static_cast<detail::given_tensor*>(self->manager_ctx); };
  return &given.release()->managed;
}

}  // namespace weft
