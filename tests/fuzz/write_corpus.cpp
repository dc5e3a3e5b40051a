// SPDX-License-Identifier: Apache-2.0
// Writes what honest ranks say, as inputs of the targets: fuzz-corpus tests/fuzz/corpus
#include "corpus_scripts.hpp"
#include "frame_input.hpp"
#include "fuzz_objects.hpp"
#include "fuzz_raw.hpp"
#include "fuzz_record.hpp"
#include "fuzz_report.hpp"

#include "link/handshake.hpp"
#include "link/message_link.hpp"
#include "link/rendezvous_messages.hpp"
#include "protocol/messages.hpp"
#include "rank_card.hpp"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

namespace weft::fuzz {
namespace {

namespace fs = std::filesystem;

class corpus {
 public:
  explicit corpus(fs::path folder) : folder_(std::move(folder)) {}

  void add(const std::string& target, const std::string& name, const input_bytes& input) const {
    fs::create_directories(folder_ / target);
    std::ofstream out(folder_ / target / name, std::ios::binary);
    out.write(reinterpret_cast<const char*>(input.bytes.data()), static_cast<std::streamsize>(input.bytes.size()));
  }

 private:
  fs::path folder_;
};

// ---- objects

/// All ranges of so many bytes become segments.
constexpr std::size_t small_threshold = 4;

template <class T>
void add_object(const corpus& to, const std::string& name, std::uint8_t type, const T& object) {
  serializers::byte_buffer whole;
  serializers::encode(whole, object);
  input_bytes plain;
  plain.put(frame_choices{type, frame_choices::has_header, 0});
  plain.append(whole.bytes());
  to.add("frames", name, plain);

  serializers::byte_buffer frame;
  serializers::segment_list segments(small_threshold);
  serializers::encode(frame, segments, object);
  if (segments.segments().empty()) return;
  for (const bool lands : {false, true}) {
    input_bytes input;
    const auto count = static_cast<std::uint8_t>(segments.segments().size());
    input.put(frame_choices{type, lands ? frame_choices::lands : std::uint8_t{0}, count});
    for (const serializers::segment& one : segments.segments()) input.put(static_cast<std::uint16_t>(one.bytes));
    const std::size_t table = count * sizeof(std::uint64_t);
    input.append(frame.bytes()
                     .subspan(sizeof(serializers::frame_header))
                     .first(frame.size() - sizeof(serializers::frame_header) - table));
    to.add("frames", name + (lands ? "-landing" : "-segments"), input);
  }
}

void add_objects(const corpus& to) {
  std::uint8_t type = 0;
  add_object(to, "values", type++, values());
  add_object(to, "containers", type++, containers());
  add_object(to, "empties", type++, empties());
  add_object(to, "pointers", type++, pointers());
  add_object(to, "versions", type++, versions());
  add_object(to, "checked", type++, checked());
  add_object(to, "late", type++, late());
  add_object(to, "arrays", type++, arrays());
  add_object(to, "raw-members", type++, cloud());
  add_object(to, "raw-arrays", type++, grid());
  add_object(to, "raw", type++, point());
  add_object(to, "raw-range", type++, std::vector<pixel>(5));
}

void add_text(const corpus& to, const std::string& name, std::uint8_t type, std::span<const std::byte> text) {
  input_bytes input;
  input.put(type);
  input.append(text);
  to.add("json", name, input);
}

template <class T>
void add_object_as_text(const corpus& to, const std::string& name, std::uint8_t type, const T& object) {
  serializers::byte_buffer frame;
  serializers::segment_list none;
  serializers::json::encode(frame, none, object);
  add_text(to, name, type, frame.bytes().subspan(sizeof(serializers::frame_header)));
}

void add_texts(const corpus& to) {
  std::uint8_t type = 0;
  add_object_as_text(to, "values", type++, values());
  add_object_as_text(to, "containers", type++, containers());
  add_object_as_text(to, "empties", type++, empties());
  add_object_as_text(to, "pointers", type++, pointers());
  add_object_as_text(to, "versions", type++, versions());
  add_object_as_text(to, "checked", type++, checked());
  add_object_as_text(to, "late", type++, late());
  add_object_as_text(to, "raw-members", type++, cloud());
  report nested;
  nested.parts.emplace_back();
  add_object_as_text(to, "report", type, nested);
  // As others may write it.
  const std::pair<const char*, std::string_view> texts[] = {
      {"other-order", R"([ {"comment": "last\u00e9", "cereal_class_version": 1, "title" : "\ud83d\ude00"} ])"},
      {"unknown-keys", R"([{"new":{"a":[1e5,-0.5,null,true]},"number":7,"parts":[{},{"price":"-inf"}]}])"},
      {"by-position", R"([["title",1,2.5e-3,{},{},["x"],"AAAAAAAAAAAAAAAAAAAAAAAAAAA=",[],"AAE=",[[1,2],[3,4]],)"
                      R"("AAAAAAAAAAA=",[]]])"},
  };
  for (const auto& [name, text] : texts) add_text(to, name, type, std::as_bytes(std::span(text)));
}

template <class T>
void add_codec(const corpus& to, const std::string& name, std::uint8_t choice, const T& object) {
  serializers::byte_buffer frame;
  serializers::encode(frame, object);
  input_bytes input;
  input.put(choice);
  input.append(frame.bytes().subspan(sizeof(serializers::frame_header)));
  to.add("codec", name, input);
}

void add_codecs(const corpus& to) {
  const record one{7, true, "text", {1, 2}, {std::byte{1}, std::byte{0}}};
  add_codec(to, "record", 0, one);
  add_codec(to, "records", 1, std::vector<record>{one, {}});
  add_codec(to, "optionals", 2,
            std::vector<std::pair<std::string, std::optional<record>>>{{"one", one}, {"none", std::nullopt}});
  add_codec(to, "nested", 3, std::vector<std::vector<record>>{{one}, {}});
}

// ---- links

void add_links(const corpus& to) {
  const auto message = [](auto body, std::size_t payload = 0) {
    std::vector<std::byte> out;
    const std::vector<std::byte> content(payload, std::byte{5});
    const detail::memory_piece piece{const_cast<std::byte*>(content.data()), content.size()};
    detail::append_message(out, static_cast<std::uint8_t>(decltype(body)::type), std::as_bytes(std::span(&body, 1)),
                           detail::memory_cursor(std::span(&piece, 1)), payload);
    return out;
  };
  protocol::announce announced{};
  announced.bytes = 20;
  announced.has_payload = 1;
  announced.route = route::inlined;
  input_bytes input;
  input.put(std::uint8_t{3}, std::uint8_t{0}, std::uint8_t{7}, std::uint8_t{30});  // pieces of 1, 8 and 31 bytes
  for (const auto& bytes : {message(announced, 20), message(protocol::credit{20}), message(protocol::clear{1, 2})})
    input.append(bytes);
  to.add("link", "small-messages", input);

  input_bytes large;
  large.put(std::uint8_t{1}, std::uint8_t{99});
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{100}, std::size_t{3'000}}) {
    large.append(message(protocol::data{9, bytes}));
    large.append(std::vector<std::byte>(bytes, std::byte{6}));
  }
  large.append(message(protocol::goodbye{}));
  to.add("link", "payload", large);
}

void add_handshakes(const corpus& to) {
  const auto story = [&](const std::string& name, std::uint8_t choices, std::uint8_t purpose) {
    input_bytes input;
    input.put(choices, purpose, std::int32_t{1}, std::int32_t{0}, std::int32_t{4}, std::uint64_t{77}, std::uint64_t{5});
    to.add("handshake", name, input);
    input.append(std::vector<std::byte>(5));
    input.put(std::uint8_t{1}, std::uint8_t{3}, std::uint8_t{255});  // a byte is changed
    to.add("handshake", name + "-disturbed", input);
  };
  story("peer", 0, static_cast<std::uint8_t>(detail::purpose::peer));
  story("rendezvous", 0, static_cast<std::uint8_t>(detail::purpose::rendezvous));
  story("another-key", 1, 0);
  story("another-version", 2, 0);
}

void add_meetings(const corpus& to) {
  const detail::rank_card card{.incarnation = 5,
                               .inline_credit = 1'000,
                               .links = "unix:weft-5",
                               .device_name = "host",
                               .device = "10.0.0.1:4000",
                               .sequencer = "[::1]:4001"};
  const auto add = [&](const std::string& name, std::uint8_t choice, const std::vector<std::byte>& bytes) {
    input_bytes input;
    input.put(choice);
    input.append(bytes);
    to.add("rendezvous", name, input);
  };
  const auto bytes_of = [](const std::string& text) {
    const auto bytes = std::as_bytes(std::span(text));
    return std::vector<std::byte>(bytes.begin(), bytes.end());
  };
  add("contribution", 0,
      detail::encode(detail::contribution{
          .who = "process 12 on host", .card = card.text(), .patience = std::chrono::milliseconds(500)}));
  detail::reply cards;
  cards.texts.assign(3, card.text());
  add("cards", 1, detail::encode(cards));
  detail::reply conflict;
  conflict.kind = detail::reply_kind::conflict;
  conflict.texts.emplace_back("rank 1 has joined already");
  add("conflict", 1, detail::encode(conflict));
  add("card", 2, bytes_of(card.text()));
  for (const char* text : {"unix:name", "host:80", "tcp:host:80", "[::1]:80"})
    add(std::string("address-") + std::to_string(text[0]) + std::to_string(text[1]), 3, bytes_of(text));
}

void write(const corpus& to) {
  add_objects(to);
  add_texts(to);
  add_codecs(to);
  add_links(to);
  add_handshakes(to);
  add_meetings(to);
  for (const script& one : endpoint_scripts()) to.add("endpoint", one.name, one.input);
  for (const script& one : log_scripts()) to.add("log", one.name, one.input);
  for (const script& one : ring_scripts()) to.add("ring", one.name, one.input);
  for (const script& one : sequencer_scripts()) to.add("sequencer", one.name, one.input);
}

}  // namespace
}  // namespace weft::fuzz

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s FOLDER, which gets a folder of inputs for each target\n", argv[0]);
    return 2;
  }
  weft::fuzz::write(weft::fuzz::corpus(argv[1]));
  return 0;
}
