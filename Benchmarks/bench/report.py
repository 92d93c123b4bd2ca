"""The table, and the page that keeps one."""

import datetime
import os
import pathlib
import platform
import subprocess

HEAD = ["figure", "a second", "p50 ms", "p99 ms", "ceiling", "a second", "ratio", "goal", "met"]
NUMBERS = {1, 2, 3, 5, 6, 7}


def table(rows):
    """The rows as a Markdown table that also reads well in a terminal."""
    lines = [HEAD] + [cells(row) for row in rows]
    widths = [max(len(line[index]) for line in lines) for index in range(len(HEAD))]
    shown = ["| " + " | ".join(
        cell.rjust(width) if index in NUMBERS else cell.ljust(width)
        for index, (cell, width) in enumerate(zip(line, widths))) + " |" for line in lines]
    rule = "|" + "|".join(
        "-" * (width + 1) + (":" if index in NUMBERS else "-")
        for index, width in enumerate(widths)) + "|"
    return "\n".join([shown[0], rule] + shown[1:])


def cells(row):
    rate, ceiling, ratio = row.medians()
    return [
        row.name, f"{rate:,.0f}", latency(row.p50), latency(row.p99), row.ceiling,
        f"{ceiling:,.0f}", f"{ratio:.2f}", "" if row.goal is None else f"{row.goal:.2f}",
        "" if row.goal is None else "yes" if ratio >= row.goal else "no",
    ]


def latency(values):
    return f"{sorted(values)[len(values) // 2]:.2f}" if values else ""


def page(shown, scale):
    """The page that `make bench RESULTS=1` writes."""
    today = datetime.datetime.now(datetime.timezone.utc).date().isoformat()
    return f"""# Measured

By `make bench RESULTS=1` on {today}, at {commit()}: {scale.rounds} rounds, medians. Envelopes
carry 1 KiB; everything, the load generator and the upstream included, ran on this one machine:
{machine()}. Figures wander with the machine; ratios to ceilings from the same run hold better.

{shown}
"""


def commit():
    done = subprocess.run(
        ["git", "describe", "--always", "--dirty"], capture_output=True, text=True,
        cwd=pathlib.Path(__file__).parent)
    return done.stdout.strip() or "an unknown commit"


def machine():
    model = "an unknown processor"
    for line in pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            model = line.split(":", 1)[1].strip()
            break
    return f"{os.cpu_count()} cores of {model}, Linux {platform.release()}"
