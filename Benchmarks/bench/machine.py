"""What a run was measured on."""

import os
import pathlib
import platform
import sqlite3
import subprocess

from bench import nginx

# Beyond so much work of others, figures say little.
LOAD_MAX = 0.5


def load_average():
    """How many processes have been running or waiting for the disk, in the last minute."""
    return os.getloadavg()[0]


def description(data, load_before, server_settings=""):
    """(what, how much) of the machine, and of a PostgreSQL server if there was one."""
    server = [("PostgreSQL", server_settings)] if server_settings else []
    return server + [
        ("processor", f"{os.cpu_count()} cores of {first_value('/proc/cpuinfo', 'model name')}"),
        ("memory", f"{int(first_value('/proc/meminfo', 'MemTotal').split()[0]) / 1048576:.0f} GiB"),
        ("disk", disk(data)),
        ("system", f"Linux {platform.release()}, {system()}, {platform.libc_ver()[1]} of glibc"),
        ("SQLite", sqlite3.sqlite_version),
        ("libcurl", said(["curl", "--version"]).split(" ")[1] if said(["curl", "--version"]) else ""),
        ("nginx", nginx.version() or "missing"),
        ("Swift", said(["swift", "--version"]).split("(")[0].replace("Swift version", "").strip()),
        ("load before the run", f"{load_before:.2f}"),
    ]


def first_value(path, name):
    """What stands behind a name in one of /proc's lists."""
    for line in pathlib.Path(path).read_text(encoding="utf-8").splitlines():
        key, _, value = line.partition(":")
        if key.strip() == name:
            return value.strip()
    return "unknown"


def disk(folder):
    """The file system in which a folder lies, and its device."""
    device = os.stat(folder).st_dev
    number = f"{os.major(device)}:{os.minor(device)}"
    for line in pathlib.Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines():
        before, _, after = line.partition(" - ")
        if before.split()[2] == number:
            kind, name = after.split()[:2]
            return f"{kind} on {name}"
    return "unknown"


def system():
    for line in pathlib.Path("/etc/os-release").read_text(encoding="utf-8").splitlines():
        if line.startswith("PRETTY_NAME="):
            return line.split("=", 1)[1].strip('"')
    return "unknown"


def said(command):
    """What a command prints; nothing where there is none."""
    try:
        return subprocess.run(command, capture_output=True, text=True).stdout.splitlines()[0]
    except (OSError, IndexError):
        return ""


def commit():
    done = subprocess.run(
        ["git", "describe", "--always", "--dirty"], capture_output=True, text=True,
        cwd=pathlib.Path(__file__).parent)
    return done.stdout.strip() or "an unknown commit"
