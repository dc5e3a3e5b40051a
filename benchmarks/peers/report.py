# SPDX-License-Identifier: Apache-2.0
"""What was measured, as Markdown: medians, ratios within rounds, and how far the targets are met."""

import statistics

import machine
import targets

disturbed = "**The machine was not quiet: ratios of this run mean little, and targets met or not mean nothing.**"
unit_names = ((1 << 30, "G"), (1 << 20, "M"), (1 << 10, "K"))
# Title, scenario, figure, and what a figure is multiplied with.
figure_tables = (
    ("Half round trip, us (p50)", "pingpong", "p50_us", 1),
    ("Objects: half round trip, us (p50)", "objects", "p50_us", 1),
    ("64 in flight, million messages a second", "rate", "messages_per_s", 1e-6),
    ("64 in flight, CPU us a message, both sides", "rate", "cpu_us_per_message", 1),
    ("8 in flight, GB/s", "bandwidth", "gb_per_s", 1),
)


def size_text(size):
    for unit, name in unit_names:
        if size >= unit and size % unit == 0:
            return f"{size // unit} {name}iB"
    return f"{size} B"


def number(value):
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def spread(values):
    """The median, and from where to where."""
    middle = number(statistics.median(values))
    return middle if len(values) == 1 else f"{middle} ({number(min(values))}..{number(max(values))})"


class Results:
    """Figures by contestant, scenario, size and whether something competed; of each, by round."""

    def __init__(self, records):
        self.problems = {}
        self.rounds = {}
        for each in records:
            key = (each["contestant"], each["scenario"], each["size"], each["competes"])
            if "problem" in each:
                self.problems[key] = each["problem"]
            else:
                self.rounds.setdefault(key, {})[each["round"]] = each

    def names(self, scenario):
        return list(dict.fromkeys(key[0] for key in self.rounds if key[1] == scenario and not key[3]))

    def sizes(self, scenario):
        return sorted({key[2] for key in self.rounds if key[1] == scenario and not key[3]})

    def values(self, key, figure):
        return [each[figure] for each in self.rounds.get(key, {}).values()]

    def ratios(self, ours, theirs, figure):
        """Of the rounds in which both were measured."""
        own, other = self.rounds.get(ours, {}), self.rounds.get(theirs, {})
        return [own[each][figure] / other[each][figure] for each in own if each in other and other[each][figure]]


def table(headings, rows):
    yield "| " + " | ".join(headings) + " |"
    yield "|" + " --- |" * len(headings)
    yield from ("| " + " | ".join(row) + " |" for row in rows)
    yield ""


def figures(results, scenario, figure, factor):
    sizes = results.sizes(scenario)
    for name in results.names(scenario):
        all_values = [results.values((name, scenario, size, False), figure) for size in sizes]
        yield [name, *(spread([factor * value for value in values]) if values else "-" for values in all_values)]


def ratios(results, ours, scenario, figure):
    sizes = results.sizes(scenario)
    for name in results.names(scenario):
        if name == ours:
            continue
        keys = [((ours, scenario, size, False), (name, scenario, size, False)) for size in sizes]
        found = [results.ratios(own, other, figure) for own, other in keys]
        yield [name, *(spread(values) if values else "-" for values in found)]


def figure_sections(results):
    for title, scenario, figure, factor in figure_tables:
        headings = [size_text(size) for size in results.sizes(scenario)]
        if not headings:
            continue
        yield f"## {title}\n"
        yield from table(["", *headings], figures(results, scenario, figure, factor))
        for ours in ("weft blocking", "weft spin"):
            if ours in results.names(scenario):
                yield f"{ours}, as a multiple of:\n"
                yield from table(["", *headings], ratios(results, ours, scenario, figure))


def competing_section(results):
    keys = sorted(key for key in results.rounds if key[3])
    if keys:
        yield "## Half round trip of 64 B, us (p50), while another process computes\n"
        yield from table(["", "64 B"], ([key[0], spread(results.values(key, "p50_us"))] for key in keys))


def target_section(results, skipped, records):
    yield "## Targets\n"
    if was_disturbed(records):
        yield f"{disturbed}\n"
    headings = ["target", "weft", "against", "ratio", "wanted", "met"]
    yield from table(headings, targets.rows(results, skipped, spread))


def skipped_section(results, skipped):
    yield "## Skipped\n"
    rows = [[name, "all", reason] for name, reason in skipped.items()]
    rows += [[name, f"{scenario} {size_text(size)}", reason]
             for (name, scenario, size, _), reason in results.problems.items()]
    yield from table(["what", "case", "why"], rows) if rows else ["nothing\n"]


def was_disturbed(records):
    return statistics.median(each["busy_share"] for each in records) > machine.quiet_share


def state_section(header, records):
    busy = [each["busy_share"] for each in records]
    yield (f"{header['machine']}, {header['processors']} processors, Linux {header['kernel']}; {header['rounds']} "
           f"rounds, {header['seconds']} s each. Before the measurements others used "
           f"{100 * statistics.median(busy):.0f}% of the processors ({100 * min(busy):.0f}..{100 * max(busy):.0f}%). "
           "Median (least..most) of the rounds.\n")
    if was_disturbed(records):
        yield f"{disturbed}\n"


def text(header, records):
    results = Results(records)
    lines = ["# weft, floors and other libraries\n", *state_section(header, records), *figure_sections(results),
             *competing_section(results), *skipped_section(results, header["skipped"]),
             *target_section(results, header["skipped"], records)]
    return "\n".join(lines)
