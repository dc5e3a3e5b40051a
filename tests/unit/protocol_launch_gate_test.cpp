// SPDX-License-Identifier: Apache-2.0
#include "protocol/launch_gate.hpp"

#include <doctest/doctest.h>

namespace {

using weft::protocol::default_resident_communicators;
using weft::protocol::launch_gate;

TEST_CASE("a gate lets groups of as many communicators pass as its limit says") {
  launch_gate gate(2);
  CHECK(gate.may_issue(10));
  gate.issued(10);
  CHECK(gate.may_issue(11));
  gate.issued(11);
  CHECK_FALSE(gate.may_issue(12));
  gate.finished(10);
  CHECK(gate.may_issue(12));
}

TEST_CASE("further groups of a communicator that is resident always pass") {
  launch_gate gate(1);
  gate.issued(3);
  CHECK(gate.may_issue(3));
  gate.issued(3);
  CHECK(gate.may_issue(3));
}

TEST_CASE("a communicator stays resident until the last of its groups is over") {
  launch_gate gate(1);
  gate.issued(3);
  gate.issued(3);
  gate.finished(3);
  CHECK_FALSE(gate.may_issue(4));
  gate.finished(3);
  CHECK(gate.may_issue(4));
}

TEST_CASE("four communicators pass unless something else is said") {
  launch_gate gate;
  for (weft::protocol::communicator_id id = 0; id < default_resident_communicators; ++id) {
    CHECK(gate.may_issue(id));
    gate.issued(id);
  }
  CHECK(default_resident_communicators == 4);
  CHECK_FALSE(gate.may_issue(4));
}

}  // namespace
