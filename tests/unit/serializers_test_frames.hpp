// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <weft/serializers/frame.hpp>

#include <string>

/// A small class, to be an element or a member of what a test serializes.
struct leaf {
  int number = 0;
  std::string text;

  template <class Archive>
  void serialize(Archive& archive) {
    archive(number, text);
  }
};

template <class... Ts>
weft::serializers::byte_buffer frame_of(const Ts&... objects) {
  weft::serializers::byte_buffer frame;
  weft::serializers::encode(frame, objects...);
  return frame;
}
