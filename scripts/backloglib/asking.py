"""How long an operator waits for what is asked most, by the terminal, the page and Prometheus."""

import json
import random
import statistics
from dataclasses import dataclass, field

# A search is over once it has a page's worth, or there is no more, however many calls it takes.
PAGE = 50
TIMES = 20
SEARCH_MS_MAX = 200.0
METRICS_MS_MAX = 50.0
STATUS_MS_MAX = 20.0


@dataclass
class Figure:
    """One thing that is asked, and how long it took each time, in milliseconds."""

    name: str
    bound: float
    took: list = field(default_factory=list)
    calls: int = 1

    @property
    def p50(self):
        """The median."""
        return statistics.median(self.took)

    @property
    def most(self):
        """The longest."""
        return max(self.took)


def _plain(relay, name, bound, paths):
    """Questions that one call answers."""
    return Figure(name, bound, [relay.ask(path)[1] for path in paths])


def _search(relay, name, paths):
    """Searches of one kind."""
    figure = Figure(name, SEARCH_MS_MAX)
    for path in paths:
        member = path.split("?")[0].rsplit("/", 1)[-1]
        found, took, calls, onward = 0, 0.0, 0, ""
        while True:
            body, milliseconds = relay.ask(path + onward)
            answer = json.loads(body)
            found += len(answer[member])
            took += milliseconds
            calls += 1
            if found >= PAGE or "next" not in answer:
                break
            onward = f"&{'cursor' if member == 'envelopes' else 'after'}={answer['next']}"
        figure.took.append(took)
        figure.calls = max(figure.calls, calls)
    return figure


def ask_all(relay, clients, ids):
    """Every question, TIMES times, about clients and envelopes that are drawn anew each time."""
    draw = random.Random(20261122)
    names = [f"c{draw.randrange(clients):05d}" for _ in range(TIMES)]
    starts = [f"c{draw.randrange(100):02d}" for _ in range(TIMES)]

    def each(path):
        return [path.format(client=name, start=start) for name, start in zip(names, starts)]

    figures = [
        _plain(relay, "/metrics", METRICS_MS_MAX, each("/metrics")),
        _plain(relay, "/status", STATUS_MS_MAX, each("/status")),
        _search(relay, "clients by the beginning of a name",
                each("/v1/clients?search={start}&limit=50")),
        _search(relay, "lanes of a client", each("/v1/lanes?client={client}&limit=50")),
        _search(relay, "lanes in which something waits",
                each("/v1/lanes?state=waiting&limit=50")),
        _search(relay, "envelopes of a client", each("/v1/envelopes?client={client}&limit=50")),
    ]
    for words, query in (
            ("that wait, of a client", "client={client}&state=queued"),
            ("delivered, of a client", "client={client}&state=delivered"),
            ("by state: delivered", "state=delivered"),
            ("by state: failed, of which there are few", "state=failed"),
            ("by state: expired, of which there are none", "state=expired"),
            ("by tag, one in a thousand", "tag=rare"),
            ("by upstream, one in a hundred", "upstream=billing"),
            ("by client and tag", "client={client}&tag=rare"),
            ("by state and upstream", "state=queued&upstream=billing")):
        figures.append(
            _search(relay, f"envelopes {words}", each(f"/v1/envelopes?{query}&limit=50")))
    if ids:
        drawn = [draw.choice(ids) for _ in range(TIMES)]
        figures.append(_plain(relay, "an envelope by its id", SEARCH_MS_MAX,
                              [f"/v1/envelopes/{name}" for name in drawn]))
    return figures
