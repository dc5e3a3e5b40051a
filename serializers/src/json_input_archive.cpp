// SPDX-License-Identifier: Apache-2.0
#include "base64.hpp"

#include <weft/serializers/detail/lies_in.hpp>
#include <weft/serializers/json_archive.hpp>

#include <charconv>

#include <limits>

namespace weft::serializers {
namespace {

bool lies_in(std::span<const std::byte> outer, std::span<const std::byte> inner) noexcept {
  return !inner.empty() && detail::lies_in(outer.data(), outer.size(), &inner.front()) &&
         detail::lies_in(outer.data(), outer.size(), &inner.back());
}

/// Whether a text is one number of this type, and nothing else.
template <class Number>
bool read_number(std::string_view text, Number& value) {
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  return problem == std::errc{} && end == text.data() + text.size();
}

std::string shortened(std::string_view text) {
  constexpr std::size_t longest = 60;
  return std::string(text.substr(0, longest)) + (text.size() > longest ? "..." : "");
}

}  // namespace

json_input_archive::json_input_archive(reader& in, const limits& bounds, std::uint32_t objects)
    : InputArchive(this), body_(in), document_(in, bounds), reached_(body_), pointers_(reached_), limits_(bounds) {
  at_hand_ = 0;
  begin_array(objects);
}
json_input_archive::~json_input_archive() = default;

void json_input_archive::load_version(std::uint32_t& version) {
  version = 0;
  if (find_key(version_name)) version = static_cast<std::uint32_t>(take_unsigned(UINT32_MAX, "u32"));
  if (known_ != nullptr) check_version(*known_, version, reached_);
}

bool json_input_archive::take_null() {
  if (!next_is(json_kind::null)) return false;
  (void)take();
  return true;
}

bool json_input_archive::take_bool() {
  const json_node& node = take();
  if (node.kind != json_kind::true_value && node.kind != json_kind::false_value) fail_kind(node, "true or false");
  return node.kind == json_kind::true_value;
}

template <class T>
T json_input_archive::take_integer(T least, T most, std::string_view type) {
  const json_node& node = take();
  T value = 0;
  const bool is_number = node.kind == json_kind::number;
  if (is_number && read_number(document_.text(node), value) && value >= least && value <= most) return value;
  const std::string expected = "an integer from " + std::to_string(least) + " to " + std::to_string(most);
  if (!is_number) fail_kind(node, expected);
  fail("the number " + shortened(document_.text(node)), expected + " (" + std::string(type) + ")");
}

std::int64_t json_input_archive::take_signed(std::int64_t least, std::int64_t most, std::string_view type) {
  return take_integer(least, most, type);
}

std::uint64_t json_input_archive::take_unsigned(std::uint64_t most, std::string_view type) {
  return take_integer(std::uint64_t{0}, most, type);
}

template <class T>
T json_input_archive::take_floating(std::string_view type) {
  constexpr std::string_view expected = R"(a number, or one of "nan", "inf" and "-inf")";
  const json_node& node = take();
  const std::string_view text = document_.text(node);
  T value{};
  if (node.kind == json_kind::number) {
    if (!read_number(text, value)) fail("the number " + shortened(text), "one that fits into " + std::string(type));
    return value;
  }
  if (node.kind != json_kind::string) fail_kind(node, expected);
  if (text == "nan") return std::numeric_limits<T>::quiet_NaN();
  if (text == "inf") return std::numeric_limits<T>::infinity();
  if (text == "-inf") return -std::numeric_limits<T>::infinity();
  fail_kind(node, expected);
}

float json_input_archive::take_float() {
  return take_floating<float>("f32");
}
double json_input_archive::take_double() {
  return take_floating<double>("f64");
}

std::string_view json_input_archive::take_string() {
  return document_.text(take(json_kind::string, "a string"));
}

std::size_t json_input_archive::count_bytes() {
  if (!next_is(json_kind::string)) fail_kind(take(), "a string of base64");
  reach(document_[*at_hand_]);
  return size_of_base64(document_.text(document_[*at_hand_]));
}

void json_input_archive::take_bytes(std::span<std::byte> into) {
  const std::string_view text = take_string();
  if (!read_base64(text, into))
    fail("the string \"" + shortened(text) + '"', "base64 of " + std::to_string(into.size()) + " bytes");
}

void json_input_archive::check_elements(std::size_t count) const {
  if (count > limits_.max_elements)
    throw limit_exceeded(reached_.offset(), "max_elements", count, limits_.max_elements, "elements in one container");
}

std::uint32_t json_input_archive::begin_array() {
  const json_node& node = take(json_kind::array, "an array");
  check_elements(node.size);
  open(node);
  return node.size;
}

void json_input_archive::begin_array(std::uint32_t size) {
  const json_node& node = take(json_kind::array, "an array");
  if (node.size != size)
    fail("an array of " + std::to_string(node.size) + " elements", std::to_string(size) + " elements");
  open(node);
}

std::uint32_t json_input_archive::begin_object() {
  const json_node& node = take(json_kind::object, "an object");
  check_elements(node.size);
  open(node);
  return node.size;
}

std::string_view json_input_archive::next_key() {
  level& within = levels_.back();
  const std::string_view key = document_.text(document_[within.next]);
  at_hand_ = within.next + 1;
  within.next = document_[*at_hand_].end;
  --within.left;
  return key;
}

void json_input_archive::begin_class(std::span<const std::byte> extent) {
  const json_node& node = take();
  if (node.kind != json_kind::object && node.kind != json_kind::array) fail_kind(node, "an object");
  open(node);
  levels_.back().extent = extent;
}

std::uint32_t json_input_archive::size_of_class() const {
  const json_node& node = document_[levels_.back().node];
  if (node.kind != json_kind::array) fail_kind(node, "an array");
  check_elements(node.size);
  return node.size;
}

void json_input_archive::open(const json_node& node) {
  const auto number = static_cast<std::uint32_t>(&node - &document_[0]);
  levels_.push_back({number, number + 1, node.size});
}

void json_input_archive::leave() {
  const level& left = levels_.back();
  const json_node& node = document_[left.node];
  if (node.kind == json_kind::array && left.left != 0)
    fail(std::to_string(left.left) + " elements too many", "the end of the array");
  levels_.pop_back();
}

/// Whether the value of a key is there, which is then read next. Without it a member stays as it is.
bool json_input_archive::find(std::string_view key, std::span<const std::byte> value) {
  if (at_hand_) return true;
  const level& within = levels_.back();
  if (document_[within.node].kind == json_kind::array) return find_element(), true;
  if (find_key(key)) return true;
  if (!lies_in(within.extent, value)) fail("no key \"" + std::string(key) + '"', "all that does not have a default");
  return false;
}

bool json_input_archive::find_next(std::span<const std::byte> value) {
  level& within = levels_.back();
  if (document_[within.node].kind == json_kind::array) return find_element(), true;
  return find("value" + std::to_string(within.unnamed++), value);
}

bool json_input_archive::find_key(std::string_view key) {
  level& within = levels_.back();
  const json_node& object = document_[within.node];
  if (object.kind != json_kind::object) return false;
  // From where the last was found: keys are usually in the order in which they are asked for.
  for (std::uint32_t i = 0; i != object.size; ++i) {
    if (within.next == object.end) within.next = within.node + 1;
    const json_node& one = document_[within.next];
    const std::uint32_t value = within.next + 1;
    within.next = document_[value].end;
    if (document_.text(one) != key) continue;
    at_hand_ = value;
    return true;
  }
  return false;
}

void json_input_archive::find_element() {
  level& within = levels_.back();
  if (within.left == 0) fail("the end of the array", "one more element");
  --within.left;
  at_hand_ = within.next;
  within.next = document_[within.next].end;
}

const json_node& json_input_archive::take() {
  if (!at_hand_) (void)find_next({});
  const json_node& node = document_[*at_hand_];
  at_hand_.reset();
  reach(node);
  return node;
}

void json_input_archive::reach(const json_node& node) {
  reached_ = body_;
  (void)reached_.read_bytes(node.place);
}

const json_node& json_input_archive::take(json_kind kind, std::string_view expected) {
  const json_node& node = take();
  if (node.kind != kind) fail_kind(node, expected);
  return node;
}

bool json_input_archive::next_is(json_kind kind) {
  if (!at_hand_) (void)find_next({});
  return document_[*at_hand_].kind == kind;
}

/// Where the value lies that was read last, as a program would say it.
std::string json_input_archive::path() const {
  std::string text;
  for (const level& one : levels_) {
    const json_node& node = document_[one.node];
    if (node.kind == json_kind::array) {
      text += '[' + std::to_string(node.size - one.left - (one.left == node.size ? 0 : 1)) + ']';
      continue;
    }
    // Keys are few, and this is for messages.
    for (std::uint32_t key = one.node + 1; key < node.end; key = document_[key + 1].end)
      if (document_[key + 1].end == one.next) text += '.' + shortened(document_.text(document_[key]));
  }
  return text;
}

void json_input_archive::fail(const std::string& found, const std::string& expected) const {
  reached_.fail(found + " at " + path(), expected);
}

void json_input_archive::fail_kind(const json_node& node, std::string_view expected) const {
  const std::string what(describe(node.kind));
  const bool has_text = node.kind == json_kind::number || node.kind == json_kind::string;
  fail(has_text ? what + " (" + shortened(document_.text(node)) + ")" : what, std::string(expected));
}

void json_input_archive::fail_depth() const {
  throw limit_exceeded(reached_.offset(), "max_depth", depth_, limits_.max_depth, "objects within one another");
}

}  // namespace weft::serializers
