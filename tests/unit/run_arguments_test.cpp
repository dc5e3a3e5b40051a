// SPDX-License-Identifier: Apache-2.0
#include "arguments.hpp"

#include <doctest/doctest.h>

#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace {

using namespace weft::run;
using arguments = std::vector<std::string_view>;
using words = std::vector<std::string>;

job_options job(const arguments& given) {
  const parsed_arguments parsed = parse_arguments(given);
  if (const auto* error = std::get_if<usage_error>(&parsed)) FAIL(error->message);
  REQUIRE(std::holds_alternative<job_options>(parsed));
  return std::get<job_options>(parsed);
}

std::string complaint(const arguments& given) {
  const parsed_arguments parsed = parse_arguments(given);
  REQUIRE(std::holds_alternative<usage_error>(parsed));
  return std::get<usage_error>(parsed).message;
}

TEST_CASE("the number of ranks and the program are enough") {
  const job_options options = job({"-n", "4", "./program"});
  CHECK(options.ranks == 4);
  CHECK(options.command == words{"./program"});
  CHECK(options.prefix);
  CHECK_FALSE(options.tcp);
  CHECK_FALSE(options.keep_going);
  CHECK(options.grace == default_grace);
  CHECK(options.rendezvous.empty());
}

TEST_CASE("options are read up to the program, whose own are left alone") {
  const job_options options =
      job({"--tcp", "-n", "1", "--no-prefix", "--keep-going", "program", "--tcp", "-n", "x", "--help"});
  CHECK(options.tcp);
  CHECK(options.keep_going);
  CHECK_FALSE(options.prefix);
  CHECK(options.command == words{"program", "--tcp", "-n", "x", "--help"});
}

TEST_CASE("-- ends the options, even before a program whose name starts with a dash") {
  CHECK(job({"-n", "2", "--", "-program", "--"}).command == words{"-program", "--"});
}

TEST_CASE("values of long options may follow as a word or after an equals sign") {
  CHECK(job({"-n", "2", "--rendezvous", "host:1", "p"}).rendezvous == "host:1");
  CHECK(job({"-n", "2", "--rendezvous=unix:a=b", "p"}).rendezvous == "unix:a=b");
  CHECK(job({"-n", "2", "--grace=1.5", "p"}).grace == std::chrono::milliseconds(1500));
  CHECK(job({"-n", "2", "--grace", "0", "p"}).grace == std::chrono::milliseconds(0));
}

TEST_CASE("a number of ranks that is none, or out of range, is named with the range") {
  for (const char* given : {"", "0", "-1", "+1", " 1", "x", "4x", "1.5", "1025", "99999999999999999999"}) {
    CAPTURE(given);
    CHECK(complaint({"-n", given, "p"}) ==
          "-n takes a number of ranks from 1 to 1024, not '" + std::string(given) + "'");
  }
  CHECK(job({"-n", "1024", "p"}).ranks == max_ranks);
}

TEST_CASE("what is missing is said with what to give") {
  CHECK(complaint({}) == "the number of ranks is missing: give -n N, as in weft-run -n 4 PROGRAM");
  CHECK(complaint({"p"}) == complaint({}));
  CHECK(complaint({"-n"}) == "-n needs the number of ranks after it");
  CHECK(complaint({"-n", "2"}) == "the program to run is missing: give it after the options");
  CHECK(complaint({"-n", "2", "--"}) == complaint({"-n", "2"}));
  CHECK(complaint({"-n", "2", ""}) == "the program to run is an empty word");
  CHECK(complaint({"-n", "2", "--rendezvous"}) == "--rendezvous needs an address after it");
  CHECK(complaint({"-n", "2", "--rendezvous=", "p"}) ==
        "--rendezvous takes an address, host:port or unix:name, and was given none");
}

TEST_CASE("a grace period that is no number of seconds is named with the range") {
  for (const char* given : {"", "-1", "nan", "inf", "86401", "1e999", "5s"}) {
    CAPTURE(given);
    CHECK(complaint({"-n", "2", "--grace", given, "p"}) ==
          "--grace takes seconds from 0 to 86400, not '" + std::string(given) + "'");
  }
}

TEST_CASE("an unknown option is named, with where the program's own stand") {
  for (const char* given : {"--bogus", "-x", "--tcp=yes"}) {
    CAPTURE(given);
    CHECK(complaint({given, "p"}) ==
          "unknown option '" + std::string(given) + "': options of the program stand after the program's name");
  }
}

TEST_CASE("the number of ranks may follow -n in the same word, and who calls it otherwise is told its name") {
  CHECK(job({"-n4", "p"}).ranks == 4);
  CHECK(complaint({"-n0", "p"}) == "-n takes a number of ranks from 1 to 1024, not '0'");
  CHECK(complaint({"-np", "4", "p"}) == "-n takes a number of ranks from 1 to 1024, not 'p'");
  for (const char* given : {"--n", "--n=4", "--np", "--ranks"}) {
    CAPTURE(given);
    CHECK(complaint({given, "4", "p"}) ==
          "unknown option '" + std::string(given) + "': the number of ranks is given as -n N");
  }
}

TEST_CASE("help and version need nothing else") {
  CHECK(std::holds_alternative<help_request>(parse_arguments({"--help"})));
  CHECK(std::holds_alternative<help_request>(parse_arguments({"-n", "2", "-h", "--bogus"})));
  CHECK(std::holds_alternative<version_request>(parse_arguments({"--version"})));
}

}  // namespace
