// SPDX-License-Identifier: Apache-2.0
#include "corpus_scripts.hpp"

#include "scripts.hpp"

#include <utility>

namespace weft::fuzz {
namespace {

// Of `fuzz_endpoint`. A first choice of 1 is peer 1 and tag 0; shapes are of bytes (0) or of objects (1).
using do_ = endpoint_step;
constexpr int peer_1 = 0;  // as those choose that are from a peer
constexpr int inlined = 1;
constexpr int host = 2;
constexpr int device = 3;
constexpr int bytes = 0;
constexpr int objects = 1;
constexpr int until_matched = 128;

/// How an announcement says the same.
constexpr int announced(int route, bool payload = false, bool verdict = false) {
  return (route - 1) << 2 | (payload ? 16 : 0) | (verdict ? 32 : 0);
}

}  // namespace

std::vector<script> endpoint_scripts() {
  std::vector<script> all;
  const auto add = [&](const char* name) -> script& { return all.emplace_back(script{name, {}}); };

  add("inline-send").then(do_::send, 1, inlined, bytes, 10).then(do_::credit, peer_1, 10);
  add("inline-send-until-matched")
      .then(do_::send, 1, inlined | until_matched, bytes, 10)
      .then(do_::accepted, peer_1, 0, 0);
  add("host-send")
      .then(do_::send, 1, host, bytes, 60)
      .then(do_::clear, peer_1, 0, 0, 5)
      .then(do_::pump, 29)
      .then(do_::pump, 29);
  add("refused-send").then(do_::send, 1, host, bytes, 60).then(do_::refused, peer_1, 0, 0, 0, 0, 60, 50, 0, 0, 3);
  add("withdrawn-send").then(do_::send, 1, host, bytes, 60).then(do_::cancel, 1, 0).then(do_::withdrawn, peer_1, 0, 0);
  add("send-when-ready")
      .then(do_::send, 196, host, bytes, 60)
      .then(do_::make_ready, 0, 0)
      .then(do_::clear, peer_1, 0, 0, 5)
      .then(do_::pump, 59);
  add("device-send").then(do_::send, 1, device, bytes, 60).then(do_::launch, 0).then(do_::transferred, 0, 0);
  add("objects-send")
      .then(do_::send, 1, host, objects, 60, 30)
      .then(do_::clear, peer_1, 0, 0, 5)
      .then(do_::pump, 29)
      .then(do_::clear, peer_1, 0, 0, 5)
      .then(do_::pump, 29);

  add("inline-receive")
      .then(do_::receive, 1, bytes, 10)
      .then(do_::announce, peer_1, 0, 0, bytes, announced(inlined, true), 10);
  add("unexpected")
      .then(do_::announce, peer_1, 0, 0, bytes, announced(inlined, true, true), 10)
      .then(do_::receive, 1, bytes, 10);
  add("host-receive")
      .then(do_::receive, 1, bytes, 60)
      .then(do_::announce, peer_1, 0, 0, bytes, announced(host), 60)
      .then(do_::data, peer_1, 0, 0, 30)
      .then(do_::data, peer_1, 0, 0, 30);
  add("wildcards")
      .then(do_::receive, 1 | 32 | 64, bytes, 60)
      .then(do_::announce, peer_1, 0, 0, bytes, announced(host), 60)
      .then(do_::data, peer_1, 0, 0, 60);
  add("mismatch").then(do_::receive, 1, bytes, 50).then(do_::announce, peer_1, 0, 0, bytes, announced(host), 60);
  add("device-receive")
      .then(do_::receive, 1, bytes, 60)
      .then(do_::announce, peer_1, 0, 0, bytes, announced(device), 60)
      .then(do_::launch, 0)
      .then(do_::transferred, 0, 0);
  add("match-taken-back")
      .then(do_::receive, 1, bytes, 60)
      .then(do_::announce, peer_1, 0, 0, bytes, announced(device), 60)
      .then(do_::withdraw, peer_1, 0)
      .then(do_::answer, 0, 1);
  add("head-comes-along")
      .then(do_::receive, 1, objects, 0)
      .then(do_::announce, peer_1, 0, 0, objects, announced(host, true), 60, 10)
      .then(do_::resume, 0, 0)
      .then(do_::data, peer_1, 0, 0, 50);
  add("head-is-asked-for")
      .then(do_::receive, 1, objects, 0)
      .then(do_::announce, peer_1, 0, 0, objects, announced(host), 60, 30)
      .then(do_::data, peer_1, 0, 0, 30)
      .then(do_::resume, 0, 0)
      .then(do_::data, peer_1, 0, 0, 30);
  add("head-before-log")
      .then(do_::receive, 1, objects, 0)
      .then(do_::announce, peer_1, 0, 0, objects, announced(device), 60, 30)
      .then(do_::data, peer_1, 0, 0, 30)
      .then(do_::resume, 0, 0)
      .then(do_::launch, 0)
      .then(do_::transferred, 0, 0);
  add("discarded")
      .then(do_::receive, 1, objects, 0)
      .then(do_::announce, peer_1, 0, 0, objects, announced(host, true), 60, 10)
      .then(do_::discard, 0);
  add("examined")
      .then(do_::examine, 1)
      .then(do_::announce, peer_1, 0, 0, bytes, announced(host), 60)
      .then(do_::resume, 0, 0)
      .then(do_::data, peer_1, 0, 0, 60);
  add("examined-and-refused")
      .then(do_::examine, 1)
      .then(do_::announce, peer_1, 0, 0, bytes, announced(inlined, true), 10)
      .then(do_::refuse, 0);
  add("late-ready")
      .then(do_::receive, 1, bytes, 60)
      .then(do_::announce, peer_1, 0, 0, bytes, announced(host) | 0xc0, 60)
      .then(do_::ready, peer_1, 0)
      .then(do_::data, peer_1, 0, 0, 60);
  add("to-oneself")
      .then(do_::send, 0, host, bytes, 60)
      .then(do_::receive, 0, bytes, 60)
      .then(do_::receive, 0, objects, 0)
      .then(do_::send, 0, inlined, objects, 40, 20)
      .then(do_::resume, 0, 0);
  add("groups")
      .then(do_::add_group, 0)
      .then(do_::receive, 16 + 32, bytes, 10)
      .then(do_::announce, 1, 0, 0, bytes, 1 | announced(inlined, true), 10);
  add("ends")
      .then(do_::send, 1, host, bytes, 60)
      .then(do_::receive, 2, bytes, 60)
      .then(do_::lose, 1)
      .then(do_::goodbye, 1)
      .then(do_::lose_log, 0)
      .then(do_::close, 0);
  return all;
}

std::vector<script> log_scripts() {
  using log = log_step;
  constexpr int group = 0;
  constexpr int pair = 1;
  std::vector<script> all;
  const auto add = [&](const char* name) -> script& { return all.emplace_back(script{name, {}}); };
  // Numbers one higher each, of communicator 3, whose unique id this rank makes.
  add("pair")
      .then(log::create, 1, 3, pair, 1, 1, 2, 0)
      .then(log::end_set_up, 0)
      .then(log::connect, 1, 3, 2, 1, 0)
      .then(log::end_set_up, 0)
      .then(log::batch, 1, 3, 1, 2, 1, 5, 6, 7, 0)
      .then(log::end_batch, 0)
      .then(log::evict, 1, 3, 0)
      .then(log::end_set_up, 0);
  add("group")
      .then(log::create, 1, 0, group, 2, 1, 2, 3, 0)
      .then(log::end_set_up, 0)
      .then(log::batch, 1, 0, 2, 1, 2, 1, 1, 9, 3, 1, 2, 2, 9, 0)
      .then(log::batch, 1, 0, 1, 1, 1, 3, 3, 9, 0)
      .then(log::end_batch, 0)
      .then(log::end_batch, 0);
  add("waits-for-its-id").then(log::create, 1, 3, pair, 1, 0, 1, 0).then(log::raw, 3, 12, 3, 0, 0, 0);
  add("failed-set-up")
      .then(log::create, 1, 3, pair, 1, 1, 2, 0)
      .then(log::end_set_up, 1)
      .then(log::batch, 1, 3, 1, 1, 2, 5, 6, 7, 0)
      .then(log::end_batch, 0);
  add("aborted")
      .then(log::create, 1, 3, pair, 1, 1, 2, 0)
      .then(log::abort, 1, 3, 0)
      .then(log::end_set_up, 1)
      .then(log::evict, 1, 3, 0)
      .then(log::end_set_up, 0);
  add("rank-gone")
      .then(log::create, 1, 3, pair, 1, 0, 1, 0)
      .then(log::raw, 7, 8, 0, 0, 0, 0, 1, 0, 0, 0)
      .then(log::batch, 1, 3, 1, 1, 0, 5, 6, 7, 0)
      .then(log::end_batch, 0);
  script& many = add("more-than-fit");
  for (int communicator = 0; communicator < 6; ++communicator)
    many.then(log::batch, 1, communicator, 1, 1, 2, 5, 6, 7, 0);
  return all;
}

std::vector<script> ring_scripts() {
  using ring = ring_step;
  constexpr int credit = 8;
  constexpr int data = 3;
  std::vector<script> all;
  const auto add = [&](const char* name) -> script& { return all.emplace_back(script{name, {}}); };
  // Sizes are two bytes each, a number and by how much it is shifted; a third one is how many cuts follow.
  constexpr int large = 12;  // 4 KiB for each
  add("bytes").then(ring::write, 100, 0, 0).then(ring::read, 30, 0, 0).then(ring::read, 200, 0, 2, 10, 0, 20, 0);
  script& around = add("around-the-end");
  for (int i = 0; i < 4; ++i) around.then(ring::write, 101, large, 1, 7, 0).then(ring::read, 99, large, 1, 0, 0);
  add("full-and-empty")
      .then(ring::reader_sleeps)
      .then(ring::write, 255, 13, 0)
      .then(ring::writer_sleeps)
      .then(ring::read, 50, large, 0)
      .then(ring::read, 255, 13, 0)
      .then(ring::wake_reader)
      .then(ring::reader_sleeps);
  add("messages")
      .then(ring::say, credit, 8, 20, 0, 0, 0, 0, 0, 0, 0, 0)
      .then(ring::listen)
      .then(ring::say, data, 16, 9, 0, 0, 0, 0, 0, 0, 0, 100, 0, 0, 0, 0, 0, 0, 0, 0)
      .then(ring::write, 60, 0, 0)
      .then(ring::listen)
      .then(ring::write, 40, 0, 0)
      .then(ring::listen);
  // Positions: from which one they are told, and how far from that.
  add("impossible-positions")
      .then(ring::set_written, 1, 1, 0)
      .then(ring::read, 10, 0, 0)
      .then(ring::set_taken, 0, 1, 0)
      .then(ring::write, 10, 0, 0)
      .then(ring::writer_sleeps)
      .then(ring::reader_sleeps);
  add("all-that-was-never-written").then(ring::set_written, 1, 0, 0).then(ring::read, 255, 13, 0).then(ring::listen);
  add("scribbled-message")
      .then(ring::scribble, 0, 0, 0, 8, credit, 0, 0, 0, 0, 0, 0, 0)
      .then(ring::set_written, 0, 8, 0)
      .then(ring::listen)
      .then(ring::scribble, 8, 0, 0, 8, credit, 0, 0, 0, 0, 0, 255, 0)
      .then(ring::set_written, 0, 8, 0)
      .then(ring::listen);
  add("flags").then(ring::set_flags, 7, 7).then(ring::write, 10, 0, 0).then(ring::read, 10, 0, 0);
  return all;
}

std::vector<script> sequencer_scripts() {
  using say = sequencer_step;
  std::vector<script> all;
  const auto add = [&](const char* name) -> script& { return all.emplace_back(script{name, {}}); };
  // A choice of twice the source, and one more for the pair's communicator: rank 1 receives from 0, and so on.
  add("group-transfer")
      .then(say::match, 1, 0, 1, 1, 9)
      .then(say::identity, 0, 0)
      .then(say::finished, 0, 0)
      .then(say::finished, 1, 0);
  add("pair-transfer")
      .then(say::match, 1, 1, 1, 1, 9)
      .then(say::identity, 0, 0)
      .then(say::finished, 0, 0)
      .then(say::finished, 1, 0);
  add("to-oneself").then(say::match, 1, 2, 1, 1, 9).then(say::finished, 1, 0);
  script& batches = add("batches");
  for (int i = 0; i < 6; ++i) batches.then(say::match, 1 + i % 3, 0, 1 + i % 3, 1, 9);
  for (int i = 0; i < 12; ++i) batches.then(say::finished, i % 4, 0);
  add("taken-back")
      .then(say::match, 1, 0, 1, 1, 9)
      .then(say::match, 1, 0, 2, 2, 9)
      .then(say::match, 1, 0, 3, 3, 9)
      .then(say::withdraw_match, 1, 0, 3, 3, 9);
  add("replaced-pair")
      .then(say::match, 1, 1, 1, 1, 9)
      .then(say::finished, 0, 0)
      .then(say::finished, 1, 0)
      .then(say::match, 2, 0, 1, 1, 9)
      .then(say::match, 3, 0, 1, 1, 9)
      .then(say::match, 2, 1, 1, 1, 9)
      .then(say::finished, 0, 0)
      .then(say::finished, 1, 0);
  add("reserved")
      .then(say::reserve, 1, 2)
      .then(say::identity, 1, 0)
      .then(say::finished, 1, 0)
      .then(say::finished, 2, 0)
      .then(say::reserve, 2, 1);
  add("failed")
      .then(say::match, 1, 1, 1, 1, 9)
      .then(say::match, 1, 1, 2, 2, 9)
      .then(say::match, 1, 1, 3, 3, 9)
      .then(say::failed, 0, 0)
      .then(say::finished, 0, 0)
      .then(say::finished, 1, 0);
  script& split = add("split");
  for (int rank = 0; rank < 4; ++rank) split.then(say::split, rank, 0, 1 + rank % 2, rank);
  split.then(say::match, 2, 8, 1, 1, 9, 0).then(say::finished, 0, 0).then(say::finished, 2, 0);
  script& leaving = add("leaving");
  leaving.then(say::match, 1, 1, 1, 1, 9).then(say::match, 2, 0, 1, 1, 9).then(say::reserve, 2, 1);
  for (int rank = 3; rank >= 0; --rank) leaving.then(say::leaving, rank);
  add("left-before-the-name").then(say::match, 1, 1, 1, 1, 9).then(say::leaving, 1).then(say::identity, 0, 0);
  add("lost")
      .then(say::match, 1, 1, 1, 1, 9)
      .then(say::split, 2, 0, 1, 0)
      .then(say::lost, 1)
      .then(say::match, 2, 2, 1, 1, 9)
      .then(say::reserve, 2, 1)
      .then(say::finished, 2, 0);
  return all;
}

}  // namespace weft::fuzz
