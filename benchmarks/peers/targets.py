# SPDX-License-Identifier: Apache-2.0
"""What weft is to reach, as ratios to floors and other libraries measured in the same rounds."""

import dataclasses
import statistics

M = 1 << 20


@dataclasses.dataclass(frozen=True)
class Target:
    title: str
    ours: str
    scenario: str
    size: int
    figure: str
    others: tuple  # (name, limit); no limit: the distance is only told
    lower: bool  # is better
    their_scenario: str = ""
    competes: bool = False
    least: float = 0  # that the figure itself has to reach


def ahead_of(*names):
    return tuple((name, 1) for name in names)


brokers = ahead_of("ZeroMQ", "nng", "Gloo", "torch tensor")
busy_peers = ("UCX poll", "Open MPI", "MPICH")


def latency(title, ours, others, size=64, **more):
    return Target(title, ours, "objects", size, "p50_us", others, True, "pingpong", **more)


def rate(ours, others):
    return Target("64 B messages, 64 in flight", ours, "rate", 64, "messages_per_s", others, False, least=2e6)


def bandwidth(ours, ring, size, title, limit):
    others = ((ring, 0.85), ("Open MPI", limit), ("UCX poll", limit))
    return Target(title, ours, "bandwidth", size, "gb_per_s", others, False)


def by_device(route, size):
    title = f"{route} on the host device, {size // M} MiB, 8 in flight"
    return Target(title, f"weft {route}", "bandwidth", size, "gb_per_s", (("weft blocking", 1 / 1.25),), False)


def objects(size):
    return Target(f"object of {size} B", "weft blocking", "objects", size, "p50_us", (("torch objects", 0.1),), True)


def competing(ours, others):
    title = "64 B ping-pong with a competing process"
    return Target(title, ours, "pingpong", 64, "p50_us", others, True, competes=True)


told = tuple((name, None) for name in busy_peers)
all_targets = [
    latency("64 B object, half round trip, spin", "weft spin",
            (("ring spin", 3), *ahead_of("Asio unix"), *brokers, *((name, 2) for name in busy_peers))),
    latency("64 B object, half round trip, blocking", "weft blocking", (("ring sleep", 1.4), *brokers)),
    rate("weft blocking", (("ring sleep", 0.35), *ahead_of("Asio unix"), *brokers, *told)),
    rate("weft spin", (("ring spin", 0.35), *ahead_of("Asio unix"), *brokers, *told)),
    bandwidth("weft blocking", "ring sleep", M, "1 MiB host, 8 in flight", 1),
    bandwidth("weft spin", "ring spin", M, "1 MiB host, 8 in flight", 1),
    # Well ahead: by a fifth.
    bandwidth("weft blocking", "ring sleep", 64 * M, "64 MiB host, 8 in flight", 1.2),
    bandwidth("weft spin", "ring spin", 64 * M, "64 MiB host, 8 in flight", 1.2),
    competing("weft spin", (("weft blocking", 1), *ahead_of("Asio unix"))),
    competing("weft blocking", ahead_of("Asio unix")),
    *(by_device(route, size) for route in ("device", "pair") for size in (M, 64 * M)),
    *(objects(size) for size in (64, 4 << 10, 64 << 10, M, 64 * M)),
    Target("CPU a message, 64 B, 64 in flight", "weft blocking", "rate", 64, "cpu_us_per_message", (("ring sleep", 2),),
           True),
]


def verdict(value, limit, lower):
    """And what share of the limit it is."""
    if limit is None:
        return "told only"
    word = "met" if (value <= limit if lower else value >= limit) else "**not met**"
    return f"{word}: {100 * value / limit:.0f}% of that"


def row(target, other, limit, results, skipped, spread):
    ours = (target.ours, target.scenario, target.size, target.competes)
    # A contestant without objects is measured with plain buffers, which are less work.
    scenario = target.scenario if other == "torch objects" else target.their_scenario or target.scenario
    theirs = (other, scenario, target.size, target.competes)
    sign = "at most" if target.lower else "at least"
    wanted = f"{sign} {limit:.3g}" if limit else "-"
    head = [target.title, target.ours, other]
    ratios = results.ratios(ours, theirs, target.figure)
    if not ratios:
        absent = [f": {name} is skipped" for name in (target.ours, other) if name in skipped]
        return [*head, "-", wanted, "not measured" + "".join(absent)]
    return [*head, spread(ratios), wanted, verdict(statistics.median(ratios), limit, target.lower)]


def least_row(target, results, spread):
    """The figure itself, in millions."""
    values = results.values((target.ours, target.scenario, target.size, target.competes), target.figure)
    head = [target.title, target.ours, "million/s"]
    wanted = f"at least {target.least / 1e6:.3g}"
    if not values:
        return [*head, "-", wanted, "not measured"]
    met = verdict(statistics.median(values), target.least, target.lower)
    return [*head, spread([value / 1e6 for value in values]), wanted, met]


def rows(results, skipped, spread):
    for target in all_targets:
        own = [row(target, other, limit, results, skipped, spread) for other, limit in target.others]
        if target.least:
            own.append(least_row(target, results, spread))
        yield own[0]
        yield from (["", "", *each[2:]] for each in own[1:])
