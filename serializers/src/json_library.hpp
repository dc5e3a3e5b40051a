// SPDX-License-Identifier: Apache-2.0
#pragma once

// RapidJSON comes with cereal: beside it, or within it. Under a namespace of its own it stays apart from the same
// library elsewhere in a program, with other settings.
#define RAPIDJSON_NAMESPACE weft::serializers::rapidjson
#define RAPIDJSON_NAMESPACE_BEGIN namespace weft::serializers::rapidjson {
#define RAPIDJSON_NAMESPACE_END }
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
