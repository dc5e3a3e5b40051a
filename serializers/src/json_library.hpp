// SPDX-License-Identifier: Apache-2.0
#pragma once

// RapidJSON comes with cereal: beside it, or within it. Under a namespace of its own it stays apart from the same
// library elsewhere in a program, with other settings.
#define RAPIDJSON_NAMESPACE weft::serializers::rapidjson
#define RAPIDJSON_NAMESPACE_BEGIN namespace weft::serializers::rapidjson {
#define RAPIDJSON_NAMESPACE_END }
// Its empty stack compares a null pointer moved by some bytes, which clang's sanitizer objects to.
#ifdef __clang__
#pragma clang attribute push(__attribute__((no_sanitize("pointer-overflow"))), apply_to = function)
#endif
#if __has_include(<rapidjson/reader.h>)
#include <rapidjson/error/en.h>
#include <rapidjson/memorystream.h>
#include <rapidjson/reader.h>
#include <rapidjson/writer.h>
#else
#include <cereal/external/rapidjson/error/en.h>
#include <cereal/external/rapidjson/memorystream.h>
#include <cereal/external/rapidjson/reader.h>
#include <cereal/external/rapidjson/writer.h>
#endif
#ifdef __clang__
#pragma clang attribute pop
#endif
