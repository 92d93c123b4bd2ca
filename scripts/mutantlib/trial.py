"""Building the copy, running tests in it within a time, and reading what they said."""

import os
import re
import signal
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

BUILD_SECONDS_MAX = 3600
# A whole test target that goes well; with a mistake in it, this many times as long as without.
TESTS_SECONDS_MAX = 1200
SLOWNESS_MAX = 5
SECONDS_MIN = 60
FAILED = re.compile(
    r"^✘ Test (.+?)(?: with \d+ test cases?)? (?:recorded an issue|failed after)", re.MULTILINE)
RAN = re.compile(r"Test run with (\d+) test")
SIGNAL = re.compile(r"unexpected signal code (\d+)")


@dataclass
class Outcome:
    """What one run of tests came to."""

    failed: list
    ran: int
    seconds: float
    # What ended it, where that was not its own end.
    cut: str = ""


def run(command, folder, seconds_max):
    """Runs a program in a session of its own: its code, or None if its time was over, and its words."""
    environment = dict(os.environ, SWIFT_BACKTRACE="enable=no")
    # A file and no pipe: whoever holds a pipe's other end, such as a relay that is left, would be
    # waited for.
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(
            command, cwd=folder, env=environment, stdout=output, stderr=subprocess.STDOUT,
            start_new_session=True)
        try:
            code = process.wait(timeout=seconds_max)
        except subprocess.TimeoutExpired:
            code = None
        finally:
            # What is left as well: of its own, or of a test that failed.
            end_session(process.pid)
        process.wait()
        output.seek(0)
        return code, output.read().decode(errors="replace")


def end_session(session):
    """Kills whatever is left of a session that `run` began."""
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            fields = (entry / "stat").read_text(encoding="utf-8").rpartition(")")[2].split()
            # The fourth field behind the name (proc_pid_stat(5)).
            if int(fields[3]) == session:
                os.kill(int(entry.name), signal.SIGKILL)
        except (OSError, IndexError, ValueError):
            continue


def build(copy):
    """Builds the copy's tests; returns the compiler's words if that failed, else nothing."""
    code, output = run(["swift", "build", "--build-tests"], copy.tree, BUILD_SECONDS_MAX)
    return "" if code == 0 else output or "the build took too long"


def test(copy, target, suites, seconds_max=TESTS_SECONDS_MAX):
    """Runs some tests of a target."""
    pattern = rf"^{target}\..*({suites})" if suites else rf"^{target}\."
    begin = time.monotonic()
    code, output = run(
        ["swift", "test", "--skip-build", "--filter", pattern], copy.tree, seconds_max)
    seconds = time.monotonic() - begin
    failed = failures(output)
    ran = sum(int(count) for count in RAN.findall(output))
    if code is None:
        return Outcome(failed, ran, seconds, f"did not end within {seconds:.0f} s")
    if match := SIGNAL.search(output):
        return Outcome(failed, ran, seconds, f"ended by signal {match.group(1)}")
    if code != 0 and not failed:
        return Outcome(failed, ran, seconds, f"ended with {code}")
    return Outcome(failed, ran, seconds)


def failures(output):
    """The names of the tests that failed; the line about the whole run is none of them."""
    return sorted(name for name in set(FAILED.findall(output)) if not name.startswith("run with "))


def patience(usual):
    """How long the same tests may take with a mistake in what they test."""
    return max(SECONDS_MIN, usual * SLOWNESS_MAX)
