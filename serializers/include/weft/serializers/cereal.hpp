// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Everything needed to serialize with cereal: weft's archives, and cereal's support for the standard library.
///
/// A class hierarchy is registered after this header, in the same source file or in the header of the class:
///
///     #include <weft/serializers/cereal.hpp>
///     CEREAL_REGISTER_TYPE(circle)
///
/// Registered where this header has not been seen, `circle` is unknown to weft's archives, and sending one through a
/// pointer to its base throws "Trying to save an unregistered polymorphic type".
///
/// Enumerations need a fixed underlying type (`enum class`, or `enum kind : int`): a number from the wire that is no
/// value of an enumeration without one is undefined behaviour. A type whose `load_and_construct` reads on after it has
/// called `construct` leaks its members if that reading fails; read everything first.
#include <weft/serializers/archive_checks.hpp>
#include <weft/serializers/archive_containers.hpp>
#include <weft/serializers/archive_values.hpp>

#include <cereal/types/array.hpp>
#include <cereal/types/atomic.hpp>
#include <cereal/types/base_class.hpp>
#include <cereal/types/bitset.hpp>
#include <cereal/types/chrono.hpp>
#include <cereal/types/common.hpp>
#include <cereal/types/complex.hpp>
#include <cereal/types/deque.hpp>
#include <cereal/types/list.hpp>
#include <cereal/types/map.hpp>
#include <cereal/types/memory.hpp>
#include <cereal/types/optional.hpp>
#include <cereal/types/polymorphic.hpp>
#include <cereal/types/queue.hpp>
#include <cereal/types/set.hpp>
#include <cereal/types/stack.hpp>
#include <cereal/types/string.hpp>
#include <cereal/types/tuple.hpp>
#include <cereal/types/unordered_map.hpp>
#include <cereal/types/unordered_set.hpp>
#include <cereal/types/utility.hpp>
#include <cereal/types/variant.hpp>
#include <cereal/types/vector.hpp>
