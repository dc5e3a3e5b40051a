# SPDX-License-Identifier: Apache-2.0
"""Latency and bandwidth over size as SVG, readable in light and in dark mode."""

import math
import pathlib
import statistics

from report import Results, size_text

width, height = 900, 540
left, right, top, bottom = 70, 690, 46, 490  # of the plot; the legend stands to the right of it
legend_step = 24

# Relatives share a colour, in light and in dark mode; the second of them is dashed, the third dotted.
families = {
    "weft": ("#0969da", "#58a6ff", ("weft spin", "weft blocking")),
    "ring": ("#6e7781", "#8b949e", ("ring busy", "ring spin", "ring sleep")),
    "kernel": ("#1b7c83", "#39c5cf", ("cross-memory attach", "Unix socket")),
    "asio": ("#bc4c00", "#f0883e", ("Asio unix", "Asio tcp")),
    "mpi": ("#1a7f37", "#3fb950", ("Open MPI", "MPICH")),
    "ucx": ("#8250df", "#bc8cff", ("UCX poll", "UCX armed")),
    "zeromq": ("#cf222e", "#ff7b72", ("ZeroMQ",)),
    "nng": ("#9a6700", "#d29922", ("nng",)),
    "gloo": ("#bf3989", "#f778ba", ("Gloo", "torch tensor")),
}
dashes = ("", "7 4", "2 3")


def style():
    def rules(ink, paper, grid, colour):
        yield f"text {{ fill: {ink}; font: 13px sans-serif; }} .title {{ font-size: 16px; font-weight: bold; }}"
        yield f".paper {{ fill: {paper}; }} .grid {{ stroke: {grid}; }}"
        for name, family in families.items():
            yield f".{name} {{ stroke: {family[colour]}; fill: {family[colour]}; }}"

    light = " ".join(rules("#1f2328", "#ffffff", "#d8dee4", 0))
    dark = " ".join(rules("#e6edf3", "#0d1117", "#30363d", 1))
    unfilled = "polyline { fill: none !important; }"
    return f"<style>{light} {unfilled} @media (prefers-color-scheme: dark) {{ {dark} }}</style>"


class LogAxis:
    def __init__(self, least, most, begin, end):
        self.least, self.most = math.log10(least), math.log10(most)
        self.begin, self.end = begin, end

    def at(self, value):
        share = (math.log10(value) - self.least) / max(1e-9, self.most - self.least)
        return round(self.begin + share * (self.end - self.begin), 1)

    def decades(self):
        return [10.0**power for power in range(math.ceil(self.least), math.floor(self.most) + 1)]


def series(results, scenario, figure):
    """(family, dash, name, points), the points being (size, median)."""
    for family, (_, _, names) in families.items():
        for dash, name in zip(dashes, names):
            values = [(size, results.values((name, scenario, size, False), figure)) for size in results.sizes(scenario)]
            points = [(size, statistics.median(found)) for size, found in values if found]
            if points:
                yield family, dash, name, points


def grid(x, y, sizes):
    for size in sizes:
        yield f'<line class="grid" x1="{x.at(size)}" x2="{x.at(size)}" y1="{top}" y2="{bottom}"/>'
        yield f'<text x="{x.at(size)}" y="{bottom + 20}" text-anchor="middle">{size_text(size)}</text>'
    for value in y.decades():
        yield f'<line class="grid" x1="{left}" x2="{right}" y1="{y.at(value)}" y2="{y.at(value)}"/>'
        yield f'<text x="{left - 8}" y="{y.at(value) + 4}" text-anchor="end">{value:g}</text>'


def line(family, dash, thickness, points):
    path = " ".join(f"{x},{y}" for x, y in points)
    yield f'<polyline class="{family}" stroke-width="{thickness}" stroke-dasharray="{dash}" points="{path}"/>'
    yield from (f'<circle class="{family}" cx="{x}" cy="{y}" r="{1 + thickness}"/>' for x, y in points)


def drawing(title, results, scenario, figure):
    lines = list(series(results, scenario, figure))
    sizes = results.sizes(scenario)
    values = [value for *_, points in lines for _, value in points]
    x = LogAxis(min(sizes), max(sizes), left + 10, right - 10)
    y = LogAxis(min(values) / 1.3, max(values) * 1.3, bottom, top)
    yield f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" aria-label="{title}">'
    yield style()
    yield f'<rect class="paper" width="{width}" height="{height}"/>'
    yield f'<text class="title" x="{left}" y="26">{title}</text>'
    yield from grid(x, y, sizes)
    # In the order in which the lines end, as far as the eye can follow them there.
    lines.sort(key=lambda each: -each[3][-1][1])
    places = {each[2]: top + 12 + index * legend_step for index, each in enumerate(lines)}
    for family, dash, name, points in sorted(lines, key=lambda each: each[0] == "weft"):  # on top of the others
        thickness = 3 if family == "weft" else 1.5
        yield from line(family, dash, thickness, [(x.at(size), y.at(value)) for size, value in points])
        place = places[name]
        yield from line(family, dash, thickness, [(right + 20, place), (right + 56, place)])
        yield f'<text x="{right + 66}" y="{place + 4}">{name}</text>'
    yield "</svg>"


def draw(records, folder):
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    results = Results(records)
    for name, title, scenario, figure in (
        ("latency", "Half round trip, microseconds (p50)", "pingpong", "p50_us"),
        ("bandwidth", "One way, 8 messages in flight, GB/s", "bandwidth", "gb_per_s"),
    ):
        if results.sizes(scenario):
            text = "\n".join(drawing(title, results, scenario, figure))
            (folder / f"{name}.svg").write_text(text + "\n", encoding="utf-8")
