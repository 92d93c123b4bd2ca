"""Runs the programs that are measured, one at a time or beside each other."""

import contextlib
import json
import pathlib
import re
import select
import subprocess
import time

START_SECONDS_MAX = 60
STOP_SECONDS_MAX = 40
RUN_SECONDS_MAX = 180


class RunFailed(Exception):
    """A program did not do what it should; nothing that was measured counts."""


def words(command):
    return [str(word) for word in command]


def read_line(process, what, seconds=RUN_SECONDS_MAX):
    """The next line of a program's output, waited for no longer than this."""
    if not select.select([process.stdout], [], [], seconds)[0]:
        raise RunFailed(f"{what} said nothing for {seconds} s")
    line = process.stdout.readline()
    if not line:
        raise RunFailed(f"{what} ended before it said anything")
    return line.strip()


@contextlib.contextmanager
def server(command, errors=None):
    """A program that says on its first line which port it listens on; ended with the block."""
    process = subprocess.Popen(
        words(command), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=errors or subprocess.DEVNULL, text=True, bufsize=1)
    try:
        line = read_line(process, command[0], START_SECONDS_MAX)
        found = re.search(r"(\d+)$", line)
        if not found:
            raise RunFailed(f"{command[0]} said {line!r} instead of its port")
        process.port = int(found.group(1))
        yield process
    finally:
        end(process)
        process.stdin.close()
        process.stdout.close()


def end(process):
    """Asks a program to end, and makes it."""
    process.terminate()
    try:
        process.wait(STOP_SECONDS_MAX)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def output(command, seconds=RUN_SECONDS_MAX, folder=None):
    """What a program prints in the course of its run."""
    try:
        done = subprocess.run(
            words(command), capture_output=True, text=True, timeout=seconds, cwd=folder)
    except subprocess.TimeoutExpired as error:
        raise RunFailed(f"{command[0]} took more than {seconds} s") from error
    if done.returncode != 0:
        raise RunFailed(f"{' '.join(words(command))} failed: {done.stderr.strip()}")
    return done.stdout.strip()


class Upstream:
    """Where envelopes go: load/upstream.c."""

    def __init__(self, process):
        self.process = process
        self.port = process.port

    def open(self, count):
        """Takes so many, and shuts again; how that went."""
        self.process.stdin.write(f"open {count}\n")
        return self.arrived()

    def arrived(self):
        """How it went, once all that it was told to count have come."""
        return json.loads(read_line(self.process, "the upstream"))


@contextlib.contextmanager
def upstream(programs, count=0, is_shut=False):
    command = [programs["upstream"], count] + (["shut"] if is_shut else [])
    with server(command) as process:
        yield Upstream(process)


def load(programs, port, connections, kind, unit, number, *more, seconds=RUN_SECONDS_MAX):
    """Posts for a while; rate and latencies, of which only answers with a 2xx count."""
    result = json.loads(
        output([programs["load"], port, connections, kind, unit, number, *more], seconds))
    if result["other"]:
        raise RunFailed(f"{result['other']} of {kind}'s answers were no 2xx")
    return result


def processor_times(pids):
    """The nanoseconds of processor time that each thread of these processes has had."""
    times = {}
    for pid in pids:
        # One that ends meanwhile had next to none.
        with contextlib.suppress(OSError):
            for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
                times[task.name] = int((task / "schedstat").read_text(encoding="ascii").split()[0])
    return times


def spent(before, after):
    """The microseconds of processor time between two looks."""
    return sum(time - before.get(task, 0) for task, time in after.items()) / 1000


def pause():
    """Lets what the last program left behind (write-back, closing sockets) settle."""
    time.sleep(0.2)
