// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

// The name of a type as the compiler spells it, made alike for g++ and clang.
namespace weft::serializers::detail {

template <class T>
consteval std::string_view function_with_type() {
  return __PRETTY_FUNCTION__;
}

/// What the compiler writes before the type, and how much after it, is the same for all types.
template <class T>
consteval std::string_view spelled_type() {
  constexpr std::string_view sample = function_with_type<double>();
  constexpr std::size_t before = sample.find("double");
  constexpr std::size_t after = sample.size() - before - std::string_view("double").size();
  constexpr std::string_view text = function_with_type<T>();
  return text.substr(before, text.size() - before - after);
}

constexpr bool in_word(char c) {
  return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/// How many characters at the start of `text` are left out: keywords, and inline namespaces of standard libraries.
constexpr std::size_t redundant_prefix(std::string_view text) {
  for (const std::string_view prefix : {"class ", "struct ", "union ", "enum ", "__cxx11::", "_V2::", "__1::"}) {
    if (text.starts_with(prefix)) return prefix.size();
  }
  return 0;
}

template <std::size_t Capacity>
struct short_text {
  std::array<char, Capacity> text{};
  std::size_t size = 0;

  constexpr void append(std::string_view added) {
    std::copy(added.begin(), added.end(), text.begin() + static_cast<std::ptrdiff_t>(size));
    size += added.size();
  }
  [[nodiscard]] constexpr char last() const { return size == 0 ? ' ' : text[size - 1]; }
};

/// Keeps a space only between words, and writes unnamed namespaces as g++ does.
template <std::size_t Capacity>
consteval short_text<Capacity> normalized(std::string_view spelled) {
  constexpr std::string_view unnamed = "(anonymous namespace)";
  short_text<Capacity> result;
  while (!spelled.empty()) {
    std::size_t used = in_word(result.last()) ? 0 : redundant_prefix(spelled);
    if (used == 0 && spelled.starts_with(unnamed)) {
      result.append("{anonymous}");
      used = unnamed.size();
    } else if (used == 0) {
      const bool between_words = spelled.size() > 1 && in_word(result.last()) && in_word(spelled[1]);
      if (spelled.front() != ' ' || between_words) result.append(spelled.substr(0, 1));
      used = 1;
    }
    spelled.remove_prefix(used);
  }
  return result;
}

template <class T>
struct compiler_type_name {
  static constexpr auto text = normalized<spelled_type<T>().size()>(spelled_type<T>());
  static constexpr std::string_view value{text.text.data(), text.size};
};

/// Leaves out the arguments that end the name of an instance of a template.
constexpr std::string_view without_arguments(std::string_view name) {
  std::size_t open = 0;
  for (std::size_t at = name.size(); at != 0; --at) {
    if (name[at - 1] == '>') ++open;
    if (name[at - 1] == '<' && --open == 0) return name.substr(0, at - 1);
  }
  return name;
}

template <class T>
struct compiler_template_name {
  static constexpr std::string_view value = without_arguments(compiler_type_name<T>::value);
};

}  // namespace weft::serializers::detail
