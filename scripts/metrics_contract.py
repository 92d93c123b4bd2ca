"""Whether the metrics, the alerts, their pages and the dashboard belong together.

Usage: metrics_contract.py TEXT OPENMETRICS: what a relay answered in both formats (see
scripts/check-metrics). Run at the top of the repository.
"""

import json
import pathlib
import re
import sys

from prometheus_client.openmetrics.parser import text_string_to_metric_families as read_openmetrics
from prometheus_client.parser import text_string_to_metric_families as read_text

RULES = pathlib.Path("deploy/prometheus/alerts.yml")
TESTS = pathlib.Path("deploy/prometheus/alerts_test.yml")
DASHBOARD = pathlib.Path("deploy/grafana/waystation.json")
PAGES = pathlib.Path("docs/alerts.md")

# What a series may be told apart by: never a client or an envelope.
LABELS = {"upstream", "outcome", "state", "code", "listener", "result", "reason", "limit", "le",
          "version", "kind", "severity", "certificate", "event"}
# What only relays that share a store show, or have certificates, and the one that was asked has neither. It
# has to stand in the table of docs/operating.md, which a test holds to the relay's families.
OF_OTHERS = {"waystation_passed_requests_total", "waystation_certificate_remaining_seconds"}
METRICS = pathlib.Path("docs/operating.md")
PARTS_OF_A_PAGE = ("**What it means.**", "**How to see it.**", "**What to do.**")
SERIES_MAX = 1000

failures = []


def expect(is_so, sentence):
    """Notes a sentence if something is not so."""
    if not is_so:
        failures.append(sentence)


def samples(families):
    """All samples as {(name, labels): value}."""
    found = {}
    for family in families:
        for sample in family.samples:
            key = (sample.name, tuple(sorted(sample.labels.items())))
            expect(key not in found, f"{key} stands twice")
            expect(set(sample.labels) <= LABELS, f"{sample.name} has the labels {sample.labels}")
            found[key] = sample.value
    return found


def metrics_in(text):
    """The names of the relay's metrics in an expression."""
    return set(re.findall(r"\b(?:waystation|process)_[a-z0-9_]+\b", text))


def expressions(panels):
    """What a dashboard's panels ask for."""
    for panel in panels:
        yield from expressions(panel.get("panels", []))
        for target in panel.get("targets", []):
            yield target["expr"]


def check_formats(text, openmetrics):
    """Both formats show the same series; returns the names of the samples, and the kinds of needs."""
    older, newer = samples(read_text(text)), samples(read_openmetrics(openmetrics))
    expect(set(older) == set(newer),
           f"only one of the formats has {sorted(set(older) ^ set(newer))[:5]}")
    expect(len(older) <= SERIES_MAX, f"{len(older)} series are more than {SERIES_MAX}")
    kinds = {dict(labels)["kind"] for name, labels in older if name == "waystation_needs"}
    return {name for name, _ in older}, kinds


def check_dashboard(known):
    """The dashboard asks only for what there is, and shows all of it."""
    dashboard = json.loads(DASHBOARD.read_text())
    asked = set()
    for expression in expressions(dashboard["panels"]):
        names = metrics_in(expression)
        expect(names, f"{DASHBOARD}: '{expression}' asks for no metric")
        asked |= names
    for variable in dashboard["templating"]["list"]:
        asked |= metrics_in(variable.get("definition", ""))
    for name in sorted(asked - known):
        failures.append(f"{DASHBOARD}: there is no metric {name}")
    ids = [panel["id"] for panel in dashboard["panels"]]
    expect(len(ids) == len(set(ids)), f"{DASHBOARD}: two panels have the same id")


def check_alerts(known, kinds):
    """Each alert asks only for what there is, is tried, and has its page; each kind of need has one."""
    rules, tests, pages = RULES.read_text(), TESTS.read_text(), PAGES.read_text()
    for name in sorted(OF_OTHERS):
        expect(f"`{name}`" in METRICS.read_text(), f"{METRICS}: {name} is not in the table")
    blocks = re.split(r"(?m)^      - alert: ", rules)[1:]
    names = [block.split("\n", 1)[0].strip() for block in blocks]
    expect(len(names) == len(set(names)), f"{RULES}: two alerts have the same name")
    sections = dict(
        (section.split("\n", 1)[0].strip(), section)
        for section in re.split(r"(?m)^## ", pages)[1:])
    for name, block in zip(names, blocks):
        for metric in sorted(metrics_in(block.split("labels:", 1)[0]) - known - OF_OTHERS):
            failures.append(f"{RULES}: {name} asks for {metric}, which there is not")
        expect(f"alertname: {name}\n" in tests, f"{TESTS}: {name} is not tried")
        page = "{{ $labels.kind }}" if "waystation_needs" in block else name.lower()
        expect(f"runbook: docs/alerts.md#{page}\n" in block,
               f"{RULES}: {name} does not name its page")
    subjects = [name for name, block in zip(names, blocks) if "waystation_needs" not in block]
    subjects += sorted(kinds)
    for name in subjects:
        for part in PARTS_OF_A_PAGE:
            expect(part in sections.get(name, ""), f"{PAGES}: {name} lacks '{part}'")
    for name in sections:
        expect(name in subjects, f"{PAGES}: there is no alert and no kind of need {name}")


def main():
    """Checks all, and says what is wrong."""
    text, openmetrics = (pathlib.Path(path).read_text() for path in sys.argv[1:3])
    known, kinds = check_formats(text, openmetrics)
    check_dashboard(known)
    check_alerts(known, kinds)
    for failure in failures:
        print(failure, file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
