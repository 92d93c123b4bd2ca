"""The table, and the page that keeps one."""

import datetime
import re

from bench import machine

HEAD = ["figure", "found", "ceiling", "its own", "ratio (rounds)", "goal", "met"]
NUMBERS = {1, 3, 4, 5}
# What has runs of its own, each with its part of the page: its heading, and what is to be known.
PARTS = {
    "cluster": ("With PostgreSQL", """\
The server ran on the same machine as all else, and its settings are those that it comes with. """),
    "receipts": ("With receipts", ""),
    "outbox": ("A device's outbox", ""),
}


def table(rows):
    """The rows as a Markdown table that also reads well in a terminal."""
    return aligned([HEAD] + [row.cells() for row in rows], NUMBERS)


def aligned(lines, numbers):
    widths = [max(len(line[index]) for line in lines) for index in range(len(lines[0]))]
    shown = ["| " + " | ".join(
        cell.rjust(width) if index in numbers else cell.ljust(width)
        for index, (cell, width) in enumerate(zip(line, widths))) + " |" for line in lines]
    rule = "|" + "|".join(
        "-" * (width + 1) + (":" if index in numbers else "-")
        for index, width in enumerate(widths)) + "|"
    return "\n".join([shown[0], rule] + shown[1:])


def summary(rows):
    """How many goals were reached."""
    judged = [row for row in rows if row.met() is not None]
    unmeasured = [row for row in rows if row.goal and row.judged() is None]
    text = f"{sum(row.met() for row in judged)} of {len(judged)} goals met"
    return text + (f", {len(unmeasured)} not measured" if unmeasured else "")


def notes(text):
    """What NOTES.md says, by the figures' keys: a heading of the second level for each."""
    parts = re.split(r"^## (.+)$", text, flags=re.MULTILINE)
    return dict(zip((key.strip() for key in parts[1::2]), (note.strip() for note in parts[2::2])))


def standing_in_the_way(rows, noted):
    """What is said of the goals that were not reached, and the keys of which nothing is said."""
    missed = {key: row for key, row in rows.items() if row.met() is False}
    said = [f"**{row.name}** (goal {row.goal.text()}). {noted[key]}"
            for key, row in missed.items() if key in noted]
    return "\n\n".join(said), [key for key in missed if key not in noted]


def today():
    return datetime.datetime.now(datetime.timezone.utc).date().isoformat()


def end_of_page(rows, described, noted):
    """The table, the machine, and what stands in the way."""
    why, _ = standing_in_the_way(rows, noted)
    machine_table = aligned([["machine", ""]] + [list(pair) for pair in described], set())
    return f"""{table(rows.values())}

{machine_table}
{f"{chr(10)}## What stands in the way{chr(10)}{chr(10)}{why}{chr(10)}" if why else ""}"""


def part(name, rows, scale, described, noted):
    """The part of the page that `make bench RESULTS=1 ONLY=…` writes."""
    heading, more = PARTS[name]
    return f"""
# {heading}

By `make bench RESULTS=1 ONLY={name}` on {today()}, at {machine.commit()}: {summary(rows.values())}.
{more}Medians of {scale.rounds} interleaved rounds, as above.

{end_of_page(rows, described, noted)}"""


def parts_of(page):
    """The parts of a page, by name, as they stand there."""
    pieces = re.split(r"(?m)^(?=\n# )", page)
    return {name: piece for name, (heading, _) in PARTS.items() for piece in pieces
            if piece.startswith(f"\n# {heading}\n")}


def with_parts(page, parts):
    """A page with these parts in place of its own."""
    first = re.split(r"(?m)^(?=\n# )", page)[0]
    return first + "".join(parts[name] for name in PARTS if name in parts)


def page(rows, scale, described, noted):
    """The page that `make bench RESULTS=1` writes, but for the parts of runs of their own."""
    return f"""# Measured

By `make bench RESULTS=1` on {today()}, at {machine.commit()}: {summary(rows.values())}. Envelopes carry
1 KiB, and each is synced before its answer. Everything, the load generator and the upstream included,
ran on this one machine. Figures wander with it; ratios to ceilings from the same run hold better: they
are medians of {scale.rounds} interleaved rounds, with the least and the greatest in brackets.
[README.md](README.md) says how each is measured.

![How much of each goal was reached](results.svg)

{end_of_page(rows, described, noted)}"""
