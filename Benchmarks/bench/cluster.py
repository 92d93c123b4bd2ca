"""Relays with their store in PostgreSQL: one beside libpq alone and beside SQLite, and two that
share a database, of which one has the store and the other is its spare."""

import contextlib
import http.client
import json
import random
import time

from bench import nginx, plan, postgres, programs as run, relay, rounds
from bench.programs import RunFailed

SETTLE_SECONDS = 2
TAKEOVER_SECONDS_MAX = 60
# So that a trial begins anywhere between two looks of the spare.
BETWEEN_LOOKS_SECONDS = 0.5
# How long posts go on before the relay with the store is stopped, and afterwards.
AROUND_STOP_SECONDS = 1

CERTIFICATES = """\
set -eu
new="openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes"
$new -x509 -days 30 -subj /CN=relays -keyout authority.key -out authority.pem
$new -subj /CN=relay -keyout key.pem -out request.pem
printf 'subjectAltName=IP:127.0.0.1\\nextendedKeyUsage=serverAuth,clientAuth\\n' >extension
openssl x509 -req -in request.pem -CA authority.pem -CAkey authority.key -CAcreateserial -days 30 \
  -extfile extension -out certificate.pem
"""


def obstacle(programs):
    """Why nothing of this can be measured here; None if it can."""
    if "postgres-append" not in programs:
        return "no libpq-dev"
    return None if postgres.programs() else "no PostgreSQL"


class Stand:
    """A server, a database in which a relay has made its tables, and certificates for relays."""

    def __init__(self, bench, server):
        self.bench = bench
        self.server = server
        self.folder = bench.data / "relays"
        self.folder.mkdir()
        self.count = 0
        run.output(["sh", "-c", CERTIFICATES], folder=self.folder)

    @contextlib.contextmanager
    def prepared(self):
        """Within the block, databases begin as a relay that has just been started leaves them."""
        with self.server.database() as self.template:
            with self.relay(self.template, 9) as taken:
                taken.wait_until_ready()
                run.end(taken.process)
            yield

    def database(self):
        return self.server.database(self.template)

    @contextlib.contextmanager
    def relay(self, database, upstream_port, is_shared=False):
        """A relay with its store in a database; shared with others it has a listener for them."""
        self.count += 1
        configuration = {
            "listen": ["127.0.0.1:0"] + ([self.listener()] if is_shared else []),
            "store": {"postgres": {"url": self.server.url(database) + "?sslmode=disable"}},
            "upstreams": {"default": {"url": f"http://127.0.0.1:{upstream_port}"}},
        }
        name = self.folder / f"relay-{self.count}"
        with relay.serving(self.bench.programs, name, configuration) as taken:
            yield taken

    def listener(self):
        address = f"127.0.0.1:{nginx.free_port()}"
        return {
            "address": address, "advertise": address, "for": "relays",
            "tls": {
                "certificate": str(self.folder / "certificate.pem"),
                "key": str(self.folder / "key.pem"),
                "clientCertificates": {"authorities": str(self.folder / "authority.pem")},
            },
        }

    @contextlib.contextmanager
    def alone(self):
        """One relay on a new database, whose upstream answers nobody."""
        with run.upstream(self.bench.programs, is_shut=True) as upstream, \
                self.database() as database, self.relay(database, upstream.port) as taken:
            taken.wait_until_ready()
            yield taken, database
        run.pause()

    @contextlib.contextmanager
    def pair(self, is_shut=True):
        """The relay with the store and its spare, whose upstream answers nobody, or at once; the
        spare has passed a request on."""
        with run.upstream(self.bench.programs, is_shut=is_shut) as upstream, \
                self.database() as database, \
                self.relay(database, upstream.port, is_shared=True) as holder:
            holder.wait_until_ready()
            with self.relay(database, upstream.port, is_shared=True) as spare:
                spare.wait_until_ready()
                self.warm_up(holder, database, plan.PASSING_CONNECTIONS)
                yield holder, spare
        run.pause()

    def warm_up(self, taken, database, connections):
        """Makes the clients known, and has the server look at its tables, as it does by itself
        within a minute: until then it plans for empty ones."""
        count = connections * plan.WARM_UP_EACH
        run.load(self.bench.programs, taken.port, connections, "relay", "count", count)
        self.server.ask("ANALYZE", database)

    def accept(self, taken, database, connections, kind, *more):
        """How fast a relay takes envelopes, and how many of them it put into one transaction."""
        self.warm_up(taken, database, connections)
        accepted = self.bench.accept_at(taken, connections, kind, *more)
        seats = self.server.ask("SELECT count(*) FROM seat", database)
        if seats != "1":
            raise RunFailed(f"the relay writes over {seats} connections, and libpq alone over one")
        return accepted

    def libpq_alone(self, batch, *more):
        """How fast libpq writes the same rows, so many in a transaction."""
        with self.database() as database:
            result = json.loads(run.output([
                self.bench.programs["postgres-append"], self.server.url(database), batch,
                self.bench.scale.ceiling_seconds, *more]))
        run.pause()
        return result


class Poster:
    """Posts envelopes one after another over one connection, and over another one if that ends."""

    def __init__(self, port):
        self.port = port
        self.connection = None
        self.body = json.dumps({"client": "bench-00000", "path": "/bench", "body": "x" * 1024})

    def post(self):
        """The status of the answer; 0 without one."""
        if self.connection is None:
            self.connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            self.connection.request(
                "POST", "/v1/envelopes", self.body, {"Content-Type": "application/json"})
            answer = self.connection.getresponse()
            answer.read()
            return answer.status
        except (OSError, http.client.HTTPException):
            self.connection = None
            return 0

    def post_until_taken(self):
        """Repeats a post until it is accepted; how many seconds that took in all."""
        begun = time.monotonic()
        while self.post() != 202:
            if time.monotonic() - begun > TAKEOVER_SECONDS_MAX:
                raise RunFailed(f"no post was accepted within {TAKEOVER_SECONDS_MAX} s")
            time.sleep(0.005)
        return time.monotonic() - begun


# MARK: each round


def acceptance(stand):
    """Single envelopes, beside libpq alone with as many rows in a transaction."""
    for count in (64, 256):
        with stand.alone() as (taken, database):
            if count == 256:
                new = stand.bench.load(taken.port, count, "json", stand.bench.scale.ceiling_seconds)
            accepted = stand.accept(taken, database, count, "json")
        loop = stand.libpq_alone(accepted["batch"])
        stand.bench.rows[f"cluster.accept{count}"].add(
            accepted["rate"], loop["rate"], accepted["batch"], accepted)
    stand.bench.rows["cluster.new"].add(new["rate"], accepted["rate"])
    compared = stand.libpq_alone(accepted["batch"], "compare")
    stand.bench.rows["cluster.fence"].add(
        compared["rate"], compared["unfencedRate"], accepted["batch"])


def batches(stand):
    """Many envelopes in a post."""
    with stand.alone() as (taken, database):
        accepted = stand.accept(
            taken, database, plan.BATCH_CONNECTIONS, "batch", plan.BATCH)
    loop = stand.libpq_alone(plan.POSTS_MAX)
    stand.bench.rows["cluster.batch"].add(accepted["rate"], loop["rate"])


def whole(stand):
    """From the first post until the last has arrived, in order; and the same with SQLite."""
    bench, count = stand.bench, stand.bench.scale.clustered
    warm_up = 64 * plan.WARM_UP_EACH
    with run.upstream(bench.programs, count + warm_up) as upstream, \
            stand.database() as database, stand.relay(database, upstream.port) as taken:
        taken.wait_until_ready()
        stand.warm_up(taken, database, 64)
        posted = run.load(bench.programs, taken.port, 64, "json", "count", count)
        result = rounds.in_order(upstream.arrived())
    rate = count / (result["endedAt"] - posted["startedAt"])
    run.pause()
    bench.rows["cluster.whole"].add(rate, rounds.whole_way(bench, [{}], count, 64, "json"))


def passing(stand):
    """Posts to the relay with the store, and as many to its spare: what the two take for them."""
    bench = stand.bench
    with stand.pair() as (holder, spare):
        more, own, rates = pass_on(stand, holder, spare, plan.PASSING_CONNECTIONS)
        bench.rows["cluster.passing"].add(more + own)
        bench.rows["cluster.passing.spare"].add(own)
        bench.rows["cluster.passing.holder"].add(more)
        bench.rows["cluster.passing.rate"].add(*rates)
        bench.rows["cluster.passing.few"].add(
            sum(pass_on(stand, holder, spare, plan.FEW_CONNECTIONS)[:2]))


def pass_on(stand, holder, spare, connections):
    """What a post that is passed on takes more of the relay with the store than a direct one, what
    it takes of the spare, and how many come in a second, both ways."""
    bench, count = stand.bench, stand.bench.scale.clustered
    taken, rates = {}, {}
    for at in (holder, spare):
        # Once, so that connections between the relays are there.
        run.load(bench.programs, at.port, connections, "relay", "count", 500)
        before = [run.processor_times([each.process.pid]) for each in (holder, spare)]
        rates[at] = run.load(
            bench.programs, at.port, connections, "json", "count", count)["rate"]
        taken[at] = [
            run.spent(then, run.processor_times([each.process.pid])) / count
            for then, each in zip(before, (holder, spare))]
    more = taken[spare][0] - taken[holder][0]
    return more, taken[spare][1], (rates[spare], rates[holder])


# MARK: once


def takeover(stand):
    """The relay with the store is killed: how long until its spare has accepted a post."""
    found = []
    for _ in range(stand.bench.scale.takeovers):
        with stand.pair() as (holder, spare):
            poster = Poster(spare.port)
            poster.post_until_taken()
            time.sleep(random.uniform(0, BETWEEN_LOOKS_SECONDS))
            holder.process.kill()
            found.append(poster.post_until_taken())
        stand.bench.rows["cluster.takeover"].add(found[-1])
    stand.bench.rows["cluster.takeover.worst"].add(max(found))


def handover(stand):
    """The relay with the store is stopped while posts go to its spare: the longest that one waits,
    its repetitions included."""
    longest = []
    for _ in range(stand.bench.scale.takeovers):
        # An attempt in flight would be waited for, as long as `shutdownGraceSeconds` allows.
        with stand.pair(is_shut=False) as (holder, spare):
            poster, times, begun, stopped = Poster(spare.port), [], time.monotonic(), None
            while stopped is None or time.monotonic() - stopped < AROUND_STOP_SECONDS:
                if time.monotonic() - begun > AROUND_STOP_SECONDS and stopped is None:
                    holder.process.terminate()
                    stopped = time.monotonic()
                times.append(poster.post_until_taken())
                if stopped is not None and holder.process.poll() is None:
                    stopped = time.monotonic()
        longest.append(max(times) * 1000)
    stand.bench.rows["cluster.handover"].add(max(longest))


def idle(stand):
    """What the relay with the store and the server do while nothing is to be done, with a spare and
    without."""
    bench = stand.bench

    def look(holder):
        time.sleep(SETTLE_SECONDS)
        before = [run.processor_times(pids) for pids in ([holder.process.pid], stand.server.pids())]
        time.sleep(bench.scale.quiet_seconds)
        after = [run.processor_times(pids) for pids in ([holder.process.pid], stand.server.pids())]
        return [run.spent(*both) / 1000 for both in zip(before, after)]

    with stand.database() as database, stand.relay(database, 9, is_shared=True) as holder:
        holder.wait_until_ready()
        without = look(holder)
        with stand.relay(database, 9, is_shared=True) as spare:
            spare.wait_until_ready()
            beside = look(holder)
    for name, more, less in zip(("relay", "server"), beside, without):
        bench.rows[f"cluster.idle.{name}"].add(more, less)


EACH_ROUND = [acceptance, batches, whole, passing]
ONCE = [takeover, handover, idle]


def cluster(bench):
    """All of it, rounds first. A step that fails leaves its rows short, and the others go on."""
    if obstacle(bench.programs):
        return
    failures = []
    with postgres.server(bench.data) as server:
        bench.server_settings = server.settings()
        stand = Stand(bench, server)
        with stand.prepared():
            for step in EACH_ROUND * bench.scale.rounds + ONCE:
                bench.tell(f"cluster, {step.__name__}")
                try:
                    step(stand)
                except RunFailed as error:
                    failures.append(f"{step.__name__}: {error}")
    if failures:
        raise RunFailed("; ".join(failures))


PARTS = {"cluster": cluster}
