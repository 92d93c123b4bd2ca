"""A PostgreSQL server of the driver's own, and what it says and takes."""

import contextlib
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time

from bench import nginx, programs as run
from bench.programs import RunFailed

PROGRAMS = pathlib.Path("/usr/lib/postgresql")
VERSION_MIN = 15
START_SECONDS_MAX = 30
STOP_SECONDS_MAX = 30

# What is said here is where the server listens; fsync, synchronous_commit, full_page_writes and all
# else are as they come, and shown with the machine.
CONFIGURATION = """\
listen_addresses = '127.0.0.1'
port = {port}
unix_socket_directories = ''
"""
SHOWN = ["fsync", "synchronous_commit", "full_page_writes", "shared_buffers", "max_wal_size"]


def programs():
    """The folder of the newest server's programs; None where there is none."""
    versions = [int(path.name) for path in PROGRAMS.glob("[0-9]*") if path.name.isdigit()]
    for version in sorted(versions, reverse=True):
        folder = PROGRAMS / str(version) / "bin"
        if version >= VERSION_MIN and (folder / "postgres").exists():
            return folder
    return None


class Server:
    """A server that runs."""

    def __init__(self, process, port):
        self.process = process
        self.port = port
        self.count = 0

    def url(self, name):
        return f"postgresql://postgres@127.0.0.1:{self.port}/{name}"

    def ask(self, sql, database="postgres"):
        """What a statement returns, as text."""
        return run.output([programs() / "psql", "-XAtq", "-d", self.url(database), "-c", sql])

    def settings(self):
        """The version, and the settings that decide what a commit costs."""
        said = ", ".join(f"{name} {self.ask(f'SHOW {name}')}" for name in SHOWN)
        return f"{self.ask('SHOW server_version')}; {said}"

    @contextlib.contextmanager
    def database(self, template="template1"):
        """A new database, whose name is given, and which is gone afterwards.

        What the last one has left to be written is written before, so that all begin alike."""
        self.count += 1
        name = f"bench{self.count}"
        self.ask(f"CREATE DATABASE {name} TEMPLATE {template}")
        self.ask("CHECKPOINT")
        try:
            yield name
        finally:
            self.ask(f"DROP DATABASE {name} WITH (FORCE)")

    def pids(self):
        """The server's processes, one for each connection among them."""
        first = self.process.pid
        listed = pathlib.Path(f"/proc/{first}/task/{first}/children").read_text(encoding="ascii")
        return [first] + [int(word) for word in listed.split()]


def as_postgres(command):
    """The command as it is run: the server refuses to work for root."""
    if os.geteuid() != 0:
        return run.words(command)
    change = ["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups"]
    return change + run.words(command)


@contextlib.contextmanager
def server(data):
    """A server in a folder of its own."""
    folder = pathlib.Path(tempfile.mkdtemp(dir=data))
    if os.geteuid() == 0:
        shutil.chown(folder, "postgres")
    log, port = folder / "log", nginx.free_port()
    run.output(as_postgres([
        programs() / "initdb", "-D", folder / "data", "-U", "postgres", "-A", "trust",
        "-E", "UTF8", "--locale=C"]), folder=folder)
    with open(folder / "data" / "postgresql.conf", "a", encoding="utf-8") as configuration:
        configuration.write(CONFIGURATION.format(port=port))
    with open(log, "w", encoding="utf-8") as written:
        process = subprocess.Popen(
            as_postgres([programs() / "postgres", "-D", folder / "data"]), cwd=folder,
            stdin=subprocess.DEVNULL, stdout=written, stderr=written)
    try:
        wait_until_it_answers(process, port, log)
        yield Server(process, port)
    finally:
        stop(process)
        shutil.rmtree(folder, ignore_errors=True)


def stop(process):
    """Ends a server without waiting for its clients."""
    process.send_signal(signal.SIGINT)
    try:
        process.wait(STOP_SECONDS_MAX)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGQUIT)
        process.wait()


def wait_until_it_answers(process, port, log):
    limit = time.monotonic() + START_SECONDS_MAX
    check = run.words([programs() / "pg_isready", "-q", "-h", "127.0.0.1", "-p", port])
    while subprocess.run(check).returncode != 0:
        if process.poll() is not None or time.monotonic() > limit:
            raise RunFailed(f"PostgreSQL does not answer: {log.read_text(encoding='utf-8')}")
        time.sleep(0.05)
