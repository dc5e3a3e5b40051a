#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""torch.distributed over Gloo, measured as the programs beside this one are: MODE SCENARIO SIZE SECONDS.

Mode tensor: pingpong, rate and bandwidth of tensors of bytes. Mode object_list: the scenario objects, a dictionary with
SIZE bytes by send_object_list and recv_object_list. A torch that lacks these (before 2.4) gets what they do, and the
route says "size and pickle".
"""

import json
import os
import resource
import socket
import struct
import sys
import tempfile
import time

import torch
import torch.distributed as distributed
from torch.distributed import distributed_c10d

mode, scenario, size, seconds = sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4])
in_flight = {"pingpong": 1, "objects": 1, "rate": 64, "bandwidth": 8}[scenario]
per_unit = 2 if in_flight == 1 else in_flight
round_trips = []


def send_by_hand(objects, other):
    pickled, length = distributed_c10d._object_to_tensor(objects[0], torch.device("cpu"))
    distributed.send(length, other)
    distributed.send(pickled, other)


def receive_by_hand(objects, other):
    length = torch.empty(1, dtype=torch.long)
    distributed.recv(length, other)
    pickled = torch.empty(int(length), dtype=torch.uint8)
    distributed.recv(pickled, other)
    objects[0] = distributed_c10d._tensor_to_object(pickled, int(length))


has_object_list = hasattr(distributed, "send_object_list")
send_objects = distributed.send_object_list if has_object_list else send_by_hand
receive_objects = distributed.recv_object_list if has_object_list else receive_by_hand


def tensor(fill):
    return torch.full((size,), fill, dtype=torch.uint8)


class Tensors:
    def __init__(self, other):
        self.other, self.outgoing, self.incoming = other, tensor(2 - other), tensor(0)

    def send(self):
        distributed.send(self.outgoing, self.other)

    def receive(self):
        distributed.recv(self.incoming, self.other)

    def check(self):
        assert bool((self.incoming == 1 + self.other).all()), "a message arrived damaged"


class Objects:
    def __init__(self, other):
        self.other, self.incoming = other, [None]
        self.outgoing = {"seed": 1 - other, "label": "parcel", "payload": os.urandom(size)}

    def send(self):
        send_objects([self.outgoing], self.other)

    def receive(self):
        receive_objects(self.incoming, self.other)

    def check(self):
        (received,) = self.incoming
        assert received["seed"] == self.other and len(received["payload"]) == size, "an object arrived damaged"


def ping_pong(end, rank, units):
    for _ in range(units):
        before = time.perf_counter()
        if rank == 0:
            end.send()
        end.receive()
        if rank == 1:
            end.send()
        round_trips.append(time.perf_counter() - before)


def stream(messages, rank, units):
    """Each slot in flight has a tensor and a tag of its own."""
    start = (lambda slot: distributed.isend(messages[slot], 1, tag=slot)) if rank == 0 else (
        lambda slot: distributed.irecv(messages[slot], 0, tag=slot))
    under_way = [start(slot) for slot in range(in_flight)]
    for _ in range(units - 1):
        for slot in range(in_flight):
            under_way[slot].wait()
            under_way[slot] = start(slot)
    for operation in under_way:
        operation.wait()


def make_run(rank):
    """What runs that many units, and what checks the last of them."""
    if in_flight == 1:
        end = Objects(1 - rank) if mode == "object_list" else Tensors(1 - rank)
        return lambda units: ping_pong(end, rank, units), end.check
    messages = [tensor(1 - rank) for _ in range(in_flight)]
    return lambda units: stream(messages, rank, units), lambda: None


def cpu_seconds():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def measure(rank, exchange):
    """`exchange(number)` gives the other's number, once both are there. The same pace as in measure.hpp."""

    def agree(own):
        others = exchange(own)
        return own if rank == 0 else int(others)

    run, check = make_run(rank)
    run(1)
    check()
    units, measures, all_units, all_seconds, all_cpu = 1, False, 0, 0.0, 0.0
    while (units := agree(units)) > 0:
        if not measures:
            round_trips.clear()
        cpu, before = cpu_seconds(), time.perf_counter()
        run(units)
        took = time.perf_counter() - before
        own_cpu = cpu_seconds() - cpu
        cpu = own_cpu + exchange(own_cpu)
        if measures:
            all_units, all_seconds, all_cpu = all_units + units, all_seconds + took, all_cpu + cpu
        if not measures and took < 0.2 * seconds:
            units *= 4
        else:
            measures, left = True, seconds - all_seconds
            units = 0 if left < 0.05 * seconds else max(1, round(units * left / took))
    check()
    return all_units * per_unit, all_seconds, all_cpu


def result(messages, took, cpu):
    halves = sorted(each * 1e6 / 2 for each in round_trips) or [None]
    route = mode if mode == "tensor" else "send_object_list" if has_object_list else "size and pickle"
    return {
        "peer": "torch", "version": torch.__version__, "scenario": scenario, "route": route, "size": size,
        "in_flight": in_flight, "messages": messages, "seconds": round(took, 6),
        "p50_us": halves[len(halves) // 2], "p99_us": halves[int(len(halves) * 0.99)], "max_us": halves[-1],
        "messages_per_s": messages / took, "gb_per_s": messages / took * size / 1e9,
        "cpu_us_per_message": cpu * 1e6 / messages,
    }


torch.set_num_threads(1)
os.environ["GLOO_SOCKET_IFNAME"] = "lo"
store = os.path.join(tempfile.mkdtemp(prefix="weft-peers-torch-"), "store")
sockets = socket.socketpair()
rank = 0 if os.fork() else 1
sockets[1 - rank].close()


def exchange(number):
    sockets[rank].sendall(struct.pack("d", number))
    answer = sockets[rank].recv(8, socket.MSG_WAITALL)
    return struct.unpack("d", answer)[0] if len(answer) == 8 else os._exit(1)  # the other has gone


try:
    distributed.init_process_group("gloo", init_method="file://" + store, rank=rank, world_size=2)
    figures = measure(rank, exchange)
    if rank == 0:
        print(json.dumps(result(*figures)), flush=True)
    exchange(0)
except BaseException as problem:
    print(f"torch_gloo.py: {problem}", file=sys.stderr, flush=True)
    os._exit(1)
finally:
    if rank == 0:
        for leave in (lambda: os.unlink(store), lambda: os.rmdir(os.path.dirname(store))):
            try:
                leave()
            except OSError:
                pass
os._exit(0)
