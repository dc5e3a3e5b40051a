# SPDX-License-Identifier: Apache-2.0
"""Half of a round trip of one object by torch.distributed's send_object_list over NCCL, as `weft-bench objects` measures
it. Usage, as ranks 0 and 1: torch_objects.py MEETING_FILE BYTES SECONDS
"""

import json
import os
import sys
import time

import torch
import torch.distributed as job

warm_up_rounds = 20


def exchange(rank, parcel, device):
    """There and back; what came."""
    came = [None]
    if rank == 0:
        job.send_object_list([parcel], dst=1, device=device)
        job.recv_object_list(came, src=1, device=device)
    else:
        job.recv_object_list(came, src=0, device=device)
        job.send_object_list([came[0]], dst=0, device=device)
    return came[0]


def main(meeting, size, seconds):
    rank = int(os.environ["RANK"])
    device = torch.device("cuda", 0)
    torch.cuda.set_device(device)
    job.init_process_group("nccl", init_method=f"file://{meeting}", rank=rank, world_size=2)
    parcel = {"seed": 1, "label": "parcel 1", "payload": bytes(i % 251 for i in range(size))}
    began = time.monotonic()
    for _ in range(warm_up_rounds):
        if exchange(rank, parcel, device) != parcel:
            sys.exit("an object arrived damaged")
    # Both ranks make as many rounds as rank 0 thinks fit into the time.
    counted = [max(10, int(seconds * warm_up_rounds / (time.monotonic() - began)))]
    job.broadcast_object_list(counted, src=0, device=device)
    halves = []
    for _ in range(counted[0]):
        before = time.perf_counter()
        exchange(rank, parcel, device)
        halves.append((time.perf_counter() - before) / 2 * 1e6)
    if rank == 0:
        halves.sort()
        print(json.dumps({"library": f"torch {torch.__version__}", "size": size, "rounds": counted[0],
                          "p50_us": halves[len(halves) // 2], "p99_us": halves[len(halves) * 99 // 100]}))
    job.destroy_process_group()


main(sys.argv[1], int(sys.argv[2]), float(sys.argv[3]))
