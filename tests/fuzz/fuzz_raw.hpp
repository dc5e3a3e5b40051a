// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <weft/serializers/json.hpp>

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

/// Types that travel as the bytes that they are: alone, in whatever holds objects, and in ranges that are segments.
namespace weft::fuzz {

/// A string of base64 in JSON.
struct point {
  static constexpr bool weft_raw = true;
  double x = 1;
  float y = 2;
  std::int32_t layer = 3;
};

/// An object in JSON.
struct pixel {
  static constexpr bool weft_raw = true;
  std::uint8_t red = 1;
  std::uint8_t green = 2;
  std::uint8_t blue = 3;

  template <class Archive>
  void serialize(Archive& archive) {
    archive(CEREAL_NVP(red), CEREAL_NVP(green), CEREAL_NVP(blue));
  }
};

/// Old versions of it had no pixels.
struct cloud {
  static constexpr bool weft_late_delivery = true;

  point center;
  std::vector<point> points = std::vector<point>(3);
  std::array<pixel, 3> corners;
  std::map<std::int32_t, point> named{{1, {}}};
  std::unordered_map<std::string, std::vector<pixel>> rows{{"row", {{}, {}}}};
  std::optional<point> optional = point{};
  std::variant<std::monostate, pixel, std::vector<point>> variant = std::vector<point>(2);
  std::pair<pixel, point> pair;
  std::deque<pixel> deque{{}, {}};
  std::unique_ptr<point> unique = std::make_unique<point>();
  std::shared_ptr<std::vector<point>> shared = std::make_shared<std::vector<point>>(2);
  std::vector<pixel> pixels = std::vector<pixel>(4);

  template <class Archive>
  void serialize(Archive& archive, std::uint32_t version) {
    archive(center, points, corners, named, rows, optional, variant, pair, deque, unique, shared);
    if (version >= 1) archive(pixels);
  }
};

/// Arrays that are large enough to lie behind the frame.
struct grid {
  static constexpr bool weft_late_delivery = true;

  std::array<point, 512> points{};
  std::unique_ptr<std::array<pixel, 2'731>> pixels = std::make_unique<std::array<pixel, 2'731>>();
  std::vector<std::array<point, 512>> more;

  template <class Archive>
  void serialize(Archive& archive) {
    archive(points, pixels, more);
  }
};

}  // namespace weft::fuzz

CEREAL_CLASS_VERSION(weft::fuzz::cloud, 1)
