// SPDX-License-Identifier: Apache-2.0
#include <weft/serializers/fingerprint.hpp>

#include <doctest/doctest.h>

#include <string_view>

namespace shop {

struct order {};
enum class state { open, closed };

struct renamed {
  static constexpr std::string_view weft_type_name = "invoice";
};

struct specialized {};

template <class T>
struct box {};
template <class T>
struct outer {
  template <class U>
  struct inner {};
};
template <class T>
struct grid {};
template <int Size, class T>
struct block {};

}  // namespace shop

template <>
struct weft::serializers::type_name<shop::specialized> {
  static constexpr std::string_view value = "receipt";
};
template <class T>
struct weft::serializers::type_name<shop::grid<T>> : composed_name<"grid", T> {};

using namespace weft::serializers;

TEST_CASE("numbers are named by kind and width, whatever they are called") {
  CHECK(type_name_v<int> == "i32");
  CHECK(type_name_v<long> == "i64");
  CHECK(type_name_v<long long> == "i64");
  CHECK(type_name_v<unsigned char> == "u8");
  CHECK(type_name_v<std::size_t> == "u64");
  CHECK(type_name_v<float> == "f32");
  CHECK(type_name_v<double> == "f64");
  CHECK(type_name_v<bool> == "bool");
  CHECK(type_name_v<char> == "char");
  CHECK(type_name_v<std::byte> == "byte");
}

TEST_CASE("standard types are named by their contents, without allocators") {
  CHECK(type_name_v<std::vector<float>> == "vector<f32>");
  CHECK(type_name_v<std::map<std::string, long>> == "map<string,i64>");
  CHECK(type_name_v<std::array<std::optional<int>, 120>> == "array<optional<i32>,120>");
  CHECK(type_name_v<int[2][3]> == "array<array<i32,3>,2>");
  CHECK(type_name_v<std::variant<std::monostate, std::tuple<>, std::pair<int, char>>> ==
        "variant<monostate,tuple<>,pair<i32,char>>");
  CHECK(type_name_v<std::unique_ptr<const int>> == "unique_ptr<i32>");
  CHECK(type_name_v<std::bitset<8>> == "bitset<8>");
  CHECK(type_name_v<std::chrono::milliseconds> == "duration<i64,ratio<1,1000>>");
  CHECK(type_name_v<std::chrono::system_clock::time_point> ==
        "time_point<system_clock,duration<i64,ratio<1,1000000000>>>");
  CHECK(type_name_v<std::u16string> == "string<char16>");
}

TEST_CASE("types of the user are named as the compiler spells them, alike for all compilers") {
  CHECK(type_name_v<shop::order> == "shop::order");
  CHECK(type_name_v<const shop::order&> == "shop::order");
  CHECK(type_name_v<shop::state> == "shop::state");
  CHECK(type_name_v<shop::box<std::vector<unsigned long>>> == "shop::box<vector<u64>>");
  CHECK(type_name_v<shop::outer<int>::inner<long>> == "shop::outer<int>::inner<i64>");
  CHECK(type_name_v<shop::block<3, float>> == "shop::block<3,float>");
}

TEST_CASE("spellings of compilers are made alike") {
  constexpr auto normal = detail::normalized<64>("struct a::b<class c, std::__cxx11::d<unsigned int> >");
  CHECK(std::string_view(normal.text.data(), normal.size) == "a::b<c,std::d<unsigned int>>");
  constexpr auto unnamed = detail::normalized<64>("(anonymous namespace)::subclass x");
  CHECK(std::string_view(unnamed.text.data(), unnamed.size) == "{anonymous}::subclass x");
}

TEST_CASE("a name can be given by a member or a specialization, for templates too") {
  CHECK(type_name_v<shop::renamed> == "invoice");
  CHECK(type_name_v<shop::specialized> == "receipt");
  CHECK(type_name_v<std::vector<shop::renamed>> == "vector<invoice>");
  CHECK(type_name_v<shop::grid<short>> == "grid<i16>");
}

TEST_CASE("a fingerprint is the FNV-1a hash of the names, joined by commas") {
  static_assert(hash_of_name("") == 0xcbf29ce484222325);
  static_assert(hash_of_name("a") == 0xaf63dc4c8601ec8c);
  static_assert(hash_of_name("foobar") == 0x85944171f73967e8);
  static_assert(type_fingerprint<>() == hash_of_name(""));
  static_assert(type_fingerprint<int>() == hash_of_name("i32"));
  static_assert(type_fingerprint<shop::order, std::vector<float>>() == hash_of_name("shop::order,vector<f32>"));
}

TEST_CASE("fingerprints tell types and their order apart") {
  CHECK(type_fingerprint<int, float>() != type_fingerprint<float, int>());
  CHECK(type_fingerprint<int>() != type_fingerprint<int, int>());
  CHECK(type_fingerprint<std::vector<int>>() != type_fingerprint<std::deque<int>>());
  CHECK(type_fingerprint<long>() == type_fingerprint<long long>());
}
