// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cereal/cereal.hpp>
#include <cereal/types/base_class.hpp>
#include <cereal/types/polymorphic.hpp>

#include <memory>

/// A hierarchy whose classes are registered in different source files.
struct shape {
  virtual ~shape() = default;
  virtual double area() const = 0;

  int layer = 0;

  template <class Archive>
  void serialize(Archive& archive) {
    archive(layer);
  }
};

struct square : shape {
  double side = 0;
  double area() const override { return side * side; }

  template <class Archive>
  void serialize(Archive& archive) {
    archive(cereal::base_class<shape>(this), side);
  }
};

/// Registered where weft's archives have not been seen.
struct stray : shape {
  double area() const override { return 0; }

  template <class Archive>
  void serialize(Archive& archive) {
    archive(cereal::base_class<shape>(this));
  }
};

std::unique_ptr<shape> make_stray();
