// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "fuzz_record.hpp"

#include <weft/serializers/json.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace weft::fuzz {

/// Members with names, and what has a form of its own in JSON.
struct report {
  std::string title = "report";
  std::int64_t number = -1;
  double price = 0.5;
  std::map<std::string, std::vector<std::uint16_t>> sections{{"first", {1}}};
  std::map<std::string, std::map<std::string, bool>> flags{{"of", {{"all", true}}}};
  std::optional<std::optional<std::string>> remark{std::in_place, std::nullopt};
  record entry{1, true, "entry", {0.5}, {std::byte{1}}};
  std::vector<record> entries{{}};
  std::array<std::byte, 2> mark{std::byte{1}};
  std::int16_t table[2][2] = {{1, 2}, {3, 4}};
  std::uint32_t key[2] = {5, 6};
  std::list<report> parts;  // each in memory of its own, because it is large
  std::string comment = "since version 1";

  template <class Archive>
  void serialize(Archive& archive, std::uint32_t version) {
    archive(CEREAL_NVP(title), CEREAL_NVP(number), CEREAL_NVP(price), CEREAL_NVP(sections), CEREAL_NVP(flags),
            CEREAL_NVP(remark), CEREAL_NVP(entry), CEREAL_NVP(entries), CEREAL_NVP(mark), CEREAL_NVP(table),
            cereal::make_nvp("key", cereal::binary_data(key, sizeof key)), CEREAL_NVP(parts));
    if (version >= 1) archive(CEREAL_NVP(comment));
  }
};

}  // namespace weft::fuzz

CEREAL_CLASS_VERSION(weft::fuzz::report, 1)
