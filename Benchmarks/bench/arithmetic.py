"""What is made of what was measured: medians, ratios, goals, and how they are written."""

import dataclasses
import math
import statistics


@dataclasses.dataclass(frozen=True)
class Goal:
    """What a figure is to be: at least so much, or at most."""

    bound: float
    is_most: bool = False
    unit: str = ""

    def is_met(self, value):
        return value <= self.bound if self.is_most else value >= self.bound

    def share(self, value):
        """How much of the goal was reached: 1 is just met, more is better."""
        if not self.is_most:
            return value / self.bound
        if value <= 0:
            return math.inf
        return self.bound / value

    def text(self):
        sign = "≤" if self.is_most else "≥"
        return f"{sign} {number(self.bound, self.unit)}"


def at_least(bound, unit=""):
    return Goal(bound, False, unit)


def at_most(bound, unit=""):
    return Goal(bound, True, unit)


def combined(*rates):
    """What parts that share the same processors come to together: each envelope passes all of them,
    so their times add up, and the rate is 1/(1/a + 1/b + ...)."""
    return 1 / sum(1 / rate for rate in rates)


@dataclasses.dataclass
class Row:
    """One figure: what was found in each round, and beside what."""

    name: str
    ceiling: str = ""
    goal: Goal | None = None
    unit: str = "/s"
    # In place of what there is to show: why there is nothing.
    missing: str = ""
    values: list = dataclasses.field(default_factory=list)
    ceilings: list = dataclasses.field(default_factory=list)
    batches: list = dataclasses.field(default_factory=list)
    p50: list = dataclasses.field(default_factory=list)
    p99: list = dataclasses.field(default_factory=list)

    def add(self, value, ceiling=None, batch=None, latencies=None):
        """Takes in one round's."""
        self.values.append(value)
        if ceiling is not None:
            self.ceilings.append(ceiling)
        if batch is not None:
            self.batches.append(batch)
        if latencies:
            self.p50.append(latencies["p50Ms"])
            self.p99.append(latencies["p99Ms"])

    def value(self):
        return statistics.median(self.values)

    def ratios(self):
        """Each round's figure by the same round's ceiling."""
        return [value / ceiling for value, ceiling in zip(self.values, self.ceilings)]

    def judged(self):
        """What the goal speaks of: the median of the ratios where there is a ceiling, else the
        median itself. None where nothing was measured."""
        if not self.values:
            return None
        return statistics.median(self.ratios() if self.ceilings else self.values)

    def met(self):
        """Whether the goal was reached; None without a goal, or without a figure."""
        judged = self.judged()
        return None if self.goal is None or judged is None else self.goal.is_met(judged)

    def cells(self):
        """The row of the table."""
        goal = self.goal.text() if self.goal else ""
        if not self.values:
            missing = self.missing or "not measured"
            return [self.name, missing, self.ceiling_text(), "", "", goal, ""]
        shown = number(self.value(), self.unit)
        if self.p50:
            middle, tail = statistics.median(self.p50), statistics.median(self.p99)
            shown += f" (p50 {number(middle)}, p99 {number(tail)} ms)"
        ceiling = number(statistics.median(self.ceilings), self.unit) if self.ceilings else ""
        met = {None: "", True: "yes", False: "no"}[self.met()]
        return [self.name, shown, self.ceiling_text(), ceiling, self.ratio_text(), goal, met]

    def ceiling_text(self):
        """What the figure is held to, with the batch size that was reached, if there is one."""
        if not self.batches:
            return self.ceiling.split(", {batch}")[0]
        return self.ceiling.format(batch=f"{statistics.median(self.batches):,.0f}")

    def ratio_text(self):
        """The median ratio, and between which the rounds' were."""
        if not self.ceilings:
            return ""
        is_most = self.goal is not None and self.goal.is_most
        ratios = self.ratios()
        shown = against(self.judged(), is_most)
        return f"{shown} ({min(ratios):.2f} to {max(ratios):.2f})" if len(ratios) > 1 else shown


def against(ratio, is_most):
    """A ratio with two digits, rounded to the side on which it does not look better than it is."""
    steps = ratio * 100
    # A product that is not quite a whole number for want of bits is one.
    whole = round(steps)
    if math.isclose(steps, whole, rel_tol=1e-9):
        steps = whole
    return f"{(math.ceil(steps) if is_most else math.floor(steps)) / 100:.2f}"


def number(value, unit=""):
    """A number with three digits that tell, and its unit."""
    if value >= 1000:
        shown = f"{value:,.0f}"
    elif value >= 100 or value == int(value) and unit:
        shown = f"{value:.0f}"
    elif value >= 10:
        shown = f"{value:.1f}"
    else:
        shown = f"{value:.2f}"
    space = "" if unit in ("", "/s") else " "
    return f"{shown}{space}{unit}"
