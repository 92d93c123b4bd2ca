"""Runs the programs that are measured, one at a time or beside each other."""

import contextlib
import json
import pathlib
import re
import select
import subprocess
import tempfile
import time

START_SECONDS_MAX = 20
STOP_SECONDS_MAX = 40
RUN_SECONDS_MAX = 180


class RunFailed(Exception):
    """A program did not do what it should; nothing that was measured counts."""


def words(command):
    return [str(word) for word in command]


def read_line(process, what, seconds):
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
        process.terminate()
        try:
            process.wait(STOP_SECONDS_MAX)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdin.close()
        process.stdout.close()


@contextlib.contextmanager
def relay(program, data, upstream_port):
    """The relay on a store of its own, with one upstream."""
    folder = pathlib.Path(tempfile.mkdtemp(dir=data))
    configuration = folder / "waystation.json"
    configuration.write_text(json.dumps({
        "upstreams": {"default": {"url": f"http://127.0.0.1:{upstream_port}"}},
    }))
    command = [
        program, "serve", "--config", configuration, "--listen", "127.0.0.1:0",
        "--data", folder / "store",
    ]
    with open(folder / "log", "w", encoding="utf-8") as log, server(command, errors=log) as process:
        process.folder = folder
        yield process
        # A backlog that nobody will take is not worth a drain.
        process.kill()


def output(command):
    """What a program prints in the course of its run."""
    try:
        done = subprocess.run(
            words(command), capture_output=True, text=True, timeout=RUN_SECONDS_MAX)
    except subprocess.TimeoutExpired as error:
        raise RunFailed(f"{command[0]} took more than {RUN_SECONDS_MAX} s") from error
    if done.returncode != 0:
        raise RunFailed(f"{' '.join(words(command))} failed: {done.stderr.strip()}")
    return done.stdout.strip()


def load(program, port, connections, kind, unit, number):
    """Posts for a while; rate and latencies, of which only answers with a 2xx count."""
    result = json.loads(output([program, port, connections, kind, unit, number]))
    if result["other"]:
        raise RunFailed(f"{result['other']} of {kind}'s answers were no 2xx")
    return result


def pause():
    """Lets what the last program left behind (write-back, closing sockets) settle."""
    time.sleep(0.2)
