"""The chart beside the table: how much of each goal was reached, for light and dark pages."""

from xml.sax.saxutils import escape

WIDTH = 900
LABEL = 440
VALUES = 150
ROW = 26
TOP = 44
# The goal stands here along the bar's room, and a bar ends where that does.
SHARE_MAX = 2.0

STYLE = """
  text { font: 13px system-ui, sans-serif; fill: #24292f }
  .light { fill: #57606a }
  .met { fill: #2da44e } .missed { fill: #cf222e }
  .room { fill: #eaeef2 } .goal { stroke: #24292f; stroke-dasharray: 3 3 }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 } .light { fill: #8b949e }
    .met { fill: #3fb950 } .missed { fill: #f85149 }
    .room { fill: #21262d } .goal { stroke: #e6edf3 }
  }
"""


def bars(rows):
    """(label, what was found and the goal, share of the goal, met) of each row that has a goal."""
    found = []
    for row in rows:
        judged = row.judged()
        if row.goal is None or judged is None:
            continue
        label = row.name
        if row.ceilings:
            # Without the batch size, for which there is no room.
            label += " / " + row.ceiling.split(", {batch}")[0]
        # The same words as in the table, without the spread.
        value = row.ratio_text().split(" ")[0] if row.ceilings else row.cells()[1]
        found.append((label, f"{value} ({row.goal.text()})", row.goal.share(judged), row.met()))
    return found


def drawing(rows):
    """The chart as SVG."""
    shown = bars(rows)
    room = WIDTH - LABEL - VALUES
    height = TOP + ROW * len(shown) + 12
    goal_at = LABEL + room / SHARE_MAX
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" '
        f'viewBox="0 0 {WIDTH} {height}" role="img" '
        'aria-label="How much of each goal was reached">',
        f"<style>{STYLE}</style>",
        f'<text x="{goal_at:.0f}" y="16" text-anchor="middle">goal</text>',
        f'<text class="light" x="{LABEL + room}" y="16" text-anchor="end">twice as good</text>',
        f'<text class="light" x="{WIDTH}" y="16" text-anchor="end">found (goal)</text>',
    ]
    for index, (label, value, share, met) in enumerate(shown):
        y = TOP - 14 + ROW * index
        length = room * min(share, SHARE_MAX) / SHARE_MAX
        lines += [
            f'<text x="{LABEL - 10}" y="{y + 13}" text-anchor="end">{escape(label)}</text>',
            f'<rect class="room" x="{LABEL}" y="{y}" width="{room}" height="17" rx="2"/>',
            f'<rect class="{"met" if met else "missed"}" x="{LABEL}" y="{y}" '
            f'width="{length:.1f}" height="17" rx="2"/>',
            f'<text class="light" x="{WIDTH}" y="{y + 13}" text-anchor="end">'
            f"{escape(value)}</text>",
        ]
    lines.append(f'<line class="goal" x1="{goal_at:.1f}" y1="24" x2="{goal_at:.1f}" '
                 f'y2="{height - 8}"/>')
    return "\n".join(lines + ["</svg>", ""])
