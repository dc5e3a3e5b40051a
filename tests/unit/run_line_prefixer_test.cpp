// SPDX-License-Identifier: Apache-2.0
#include "line_prefixer.hpp"

#include <doctest/doctest.h>

#include <random>
#include <string>
#include <string_view>

namespace {

using weft::run::line_prefixer;

TEST_CASE("each complete line gets the prefix, and empty lines do too") {
  line_prefixer lines("[3] ");
  CHECK(lines.feed("a\n\nb\n") == "[3] a\n[3] \n[3] b\n");
  CHECK(lines.finish().empty());
}

TEST_CASE("a line comes out once its end has come") {
  line_prefixer lines("[0] ");
  CHECK(lines.feed("he").empty());
  CHECK(lines.feed("llo").empty());
  CHECK(lines.feed("\nwor") == "[0] hello\n");
  CHECK(lines.feed("ld\n") == "[0] world\n");
}

TEST_CASE("an unterminated last line gets an end, once") {
  line_prefixer lines("[0] ");
  CHECK(lines.feed("rest").empty());
  CHECK(lines.finish() == "[0] rest\n");
  CHECK(lines.finish().empty());
}

TEST_CASE("a line longer than the bound is cut, one of exactly the bound is not") {
  line_prefixer lines("> ", 4);
  CHECK(lines.feed("abcd\n") == "> abcd\n");
  CHECK(lines.feed("abcdefghij\n") == "> abcd\n> efgh\n> ij\n");
  CHECK(lines.feed("abcd").empty());
  CHECK(lines.feed("\n") == "> abcd\n");
  CHECK(lines.feed("abcd").empty());
  CHECK(lines.feed("e\n") == "> abcd\n> e\n");
}

TEST_CASE("bytes that are no text pass unchanged") {
  line_prefixer lines("");
  const std::string bytes("\0\xff\r\x1b\n", 5);
  CHECK(lines.feed(bytes) == bytes);
}

TEST_CASE("how the bytes are cut into reads makes no difference") {
  const unsigned seed = std::random_device()();
  CAPTURE(seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 200; ++round) {
    std::string text(random() % 200, 'x');
    for (char& c : text)
      if (random() % 6 == 0) c = '\n';
    line_prefixer whole("p", 8);
    std::string expected = whole.feed(text);
    expected += whole.finish();
    line_prefixer pieces("p", 8);
    std::string got;
    for (std::string_view rest = text; !rest.empty();) {
      const std::size_t taken = 1 + random() % rest.size();
      got += pieces.feed(rest.substr(0, taken));
      rest.remove_prefix(taken);
    }
    got += pieces.finish();
    CHECK(got == expected);
  }
}

}  // namespace
