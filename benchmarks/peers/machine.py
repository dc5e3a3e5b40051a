# SPDX-License-Identifier: Apache-2.0
"""The state of the machine, running one measurement, and something that competes for a processor."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time

quiet_share = 0.05  # of all processors, used by others
probe_s = 0.1
longest_wait_s = 5  # before one measurement
hog = [sys.executable, "-c", "while True: pass"]


def processor_times():
    with open("/proc/stat", encoding="ascii") as file:
        times = [int(word) for word in file.readline().split()[1:9]]  # user nice system idle iowait irq softirq steal
    return sum(times), times[3] + times[4]


def busy_share():
    """Of the time of all processors, what is used while nothing is measured."""
    total, idle = processor_times()
    time.sleep(probe_s)
    later_total, later_idle = processor_times()
    return 1 - (later_idle - idle) / max(1, later_total - total)


class Patience:
    """Waits until others leave the processors alone, but not for ever."""

    def __init__(self, seconds):
        self.left_s = seconds

    def wait(self):
        """The state in which a measurement begins."""
        begin = time.monotonic()
        share = busy_share()
        while share > quiet_share and time.monotonic() - begin < min(longest_wait_s, self.left_s):
            time.sleep(0.2)
            share = busy_share()
        waited = time.monotonic() - begin - probe_s
        self.left_s -= waited
        return {"load": os.getloadavg()[0], "busy_share": round(share, 3), "waited_s": round(waited, 1)}


@contextlib.contextmanager
def competitor(wanted):
    """A process that computes all the time, where it is wanted."""
    process = subprocess.Popen(hog) if wanted else None
    try:
        yield
    finally:
        if process:
            process.kill()
            process.wait()


def run(command, environment, limit_s):
    """What the program printed as JSON, or {"problem": ...}."""
    process = subprocess.Popen(command, env={**os.environ, **environment}, text=True, start_new_session=True,
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        output, errors = process.communicate(timeout=limit_s)
    except subprocess.TimeoutExpired:
        return {"problem": f"no result within {limit_s:.0f} s"}
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # those that it started, too
        process.wait()
    for line in output.splitlines():
        if line.startswith("{"):
            return json.loads(line)
    return {"problem": (errors.strip().splitlines() or [f"exit status {process.returncode}, and no output"])[-1]}
