// SPDX-License-Identifier: Apache-2.0
// Two programs that know different versions of a type: what each makes of the other's objects, in each format.
#include "serializers_test_frames.hpp"
#include "serializers_test_json.hpp"

#include <weft/serializers/fingerprint.hpp>

#include <doctest/doctest.h>

#include <string>
#include <tuple>
#include <vector>

using namespace weft::serializers;

namespace {

constexpr std::string_view shared_name = "test.account";

/// As the first program knows it.
struct old_account {
  static constexpr std::string_view weft_type_name = shared_name;
  std::string owner = "nobody";

  template <class Archive>
  void serialize(Archive& archive, std::uint32_t) {
    archive(CEREAL_NVP(owner));
  }
};

/// As the second does, which reads what the first one writes.
struct new_account {
  static constexpr std::string_view weft_type_name = shared_name;
  std::string owner = "nobody";
  int cents = -1;

  template <class Archive>
  void serialize(Archive& archive, std::uint32_t version) {
    archive(CEREAL_NVP(owner));
    if (version >= 2) archive(CEREAL_NVP(cents));
  }
};

/// An old one that knows how to pass over what it does not know: each version adds a text, and says how many there are.
struct tolerant_account {
  static constexpr std::string_view weft_type_name = shared_name;
  static constexpr bool weft_accepts_newer = true;
  std::vector<std::string> texts;
  std::uint32_t seen = 0;

  template <class Archive>
  void serialize(Archive& archive, std::uint32_t version) {
    archive(CEREAL_NVP(texts));
    seen = version;
  }
};
struct newest_account {
  [[maybe_unused]] static constexpr std::string_view weft_type_name = shared_name;
  std::vector<std::string> texts;

  template <class Archive>
  void serialize(Archive& archive, std::uint32_t) {
    archive(CEREAL_NVP(texts));
  }
};

/// Without a version, but with names.
struct old_note {
  std::string text;

  template <class Archive>
  void serialize(Archive& archive) {
    archive(CEREAL_NVP(text));
  }
};
struct new_note {
  std::string text;
  int priority = 5;

  template <class Archive>
  void serialize(Archive& archive) {
    archive(CEREAL_NVP(priority), CEREAL_NVP(text));
  }
};

/// Whose first object lies where an old program does not look.
struct new_page {
  new_account added{"added", 1};
  new_account known{"known", 2};

  template <class Archive>
  void serialize(Archive& archive) {
    archive(CEREAL_NVP(added), CEREAL_NVP(known));
  }
};
struct old_page {
  new_account known;

  template <class Archive>
  void serialize(Archive& archive) {
    archive(CEREAL_NVP(known));
  }
};

/// A base with a version of its own.
struct old_base {
  int number = 0;
  template <class Archive>
  void serialize(Archive& archive, std::uint32_t) {
    archive(CEREAL_NVP(number));
  }
};
struct new_base {
  int number = 0;
  template <class Archive>
  void serialize(Archive& archive, std::uint32_t) {
    archive(CEREAL_NVP(number));
  }
};
template <class Base>
struct derived_from : Base {
  template <class Archive>
  void serialize(Archive& archive) {
    archive(cereal::base_class<Base>(this));
  }
};

/// Written byte by byte, with a version of its own making.
struct old_code {
  std::uint32_t number = 0;
};
struct new_code {
  std::uint32_t number = 0;
  std::uint32_t extra = 0;
};

template <class T, class... Ts>
T reread(const Ts&... objects) {
  return std::get<0>(decode<T>(frame_of(objects...).bytes()));
}

constexpr auto future = "found version 2 of ";

}  // namespace

CEREAL_CLASS_VERSION(old_account, 1)
CEREAL_CLASS_VERSION(new_account, 2)
CEREAL_CLASS_VERSION(tolerant_account, 1)
CEREAL_CLASS_VERSION(newest_account, 3)
CEREAL_CLASS_VERSION(old_base, 1)
CEREAL_CLASS_VERSION(new_base, 2)

template <>
struct weft::serializers::codec<old_code> {
  static void encode(byte_buffer& out, const old_code& object) { out.append(object.number); }
  static old_code decode(reader& in) { return {in.read<std::uint32_t>()}; }
};
template <>
struct weft::serializers::codec<new_code> {
  static void encode(byte_buffer& out, const new_code& object) {
    out.append(object.number);
    out.append(object.extra);
  }
  static new_code decode(reader& in) {
    new_code made;
    made.number = in.read<std::uint32_t>();
    made.extra = in.read<std::uint32_t>();
    return made;
  }
};

TEST_CASE("programs with different versions of a type agree that it is the same") {
  CHECK(type_fingerprint<old_account>() == type_fingerprint<new_account>());
}

TEST_CASE("a newer program reads what an older one sends, binary or JSON") {
  const new_account binary = reread<new_account>(old_account{"Ada"});
  CHECK(binary.owner == "Ada");
  CHECK(binary.cents == -1);
  const auto json = from_json<new_account>(json_of(old_account{"Ada"}));
  CHECK(json.owner == "Ada");
  CHECK(json.cents == -1);
}

TEST_CASE("an older program refuses a version that it does not know, by its name") {
  CHECK_THROWS_WITH_AS((void)reread<old_account>(new_account{"Ada", 3}), doctest::Contains(future), decode_error);
  refuses_json<old_account>(json_of(new_account{"Ada", 3}), future);
  CHECK_THROWS_WITH_AS((void)reread<derived_from<old_base>>(derived_from<new_base>{}), doctest::Contains(future),
                       decode_error);
  refuses_json<derived_from<old_base>>(json_of(derived_from<new_base>{}), future);
  const auto held = std::make_shared<new_account>();
  CHECK_THROWS_WITH_AS((void)reread<std::shared_ptr<old_account>>(held), doctest::Contains(future), decode_error);
}

TEST_CASE("a type that says so is given versions above its own") {
  const newest_account sent{{"one", "two", "three"}};
  const auto binary = reread<tolerant_account>(sent);
  CHECK(binary.texts == sent.texts);
  CHECK(binary.seen == 3);
  CHECK(from_json<tolerant_account>(json_of(sent)).seen == 3);
}

TEST_CASE("without versions JSON finds by name what both know, and the binary format does not") {
  const auto older = from_json<old_note>(json_of(new_note{"text", 9}));
  CHECK(older.text == "text");
  const auto newer = from_json<new_note>(json_of(old_note{"text"}));
  CHECK(newer.text == "text");
  CHECK(newer.priority == 5);
  CHECK_THROWS_AS((void)reread<old_note>(new_note{"text", 9}), decode_error);
  CHECK_THROWS_AS((void)reread<new_note>(old_note{"text"}), decode_error);
}

TEST_CASE("JSON has the version with each object, so that one which is passed over takes none along") {
  const auto got = from_json<old_page>(json_of(new_page{}));
  CHECK(got.known.owner == "known");
  CHECK(got.known.cents == 2);
  CHECK(from_json<new_account>(R"([{"owner":"without"}])").owner == "without");
}

TEST_CASE("a codec is told nothing of the other end: bytes too many or too few are an error") {
  CHECK_THROWS_WITH_AS((void)reread<old_code>(new_code{1, 2}), doctest::Contains("4 bytes after the last object"),
                       decode_error);
  CHECK_THROWS_WITH_AS((void)reread<new_code>(old_code{1}), doctest::Contains("expected 4 bytes"), decode_error);
  refuses_json<old_code>(json_of(new_code{1, 2}), "4 bytes after the last object");
  refuses_json<new_code>(json_of(old_code{1}), "expected 4 bytes");
}
