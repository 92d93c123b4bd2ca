"""Builds what is measured and what measures it, all of it optimised."""

import os
import pathlib
import subprocess

RELAY = ["waystation"]
SWIFT_PRODUCTS = RELAY + ["bench-server", "bench-forwarder", "bench-outbox"]
C_PROGRAMS = {
    "load": ("load/load.c", []),
    "open-loop": ("load/open-loop.c", []),
    "held": ("load/held.c", []),
    "upstream": ("load/upstream.c", []),
    "curl-multi": ("ceilings/curl-multi.c", ["-lcurl"]),
    "sqlite-append": ("ceilings/sqlite-append.c", ["-lsqlite3"]),
    "disk-append": ("ceilings/disk-append.c", []),
    "outbox-append": ("ceilings/outbox-append.c", ["-lsqlite3"]),
}

LIBPQ_PROGRAM = ("postgres-append", "ceilings/postgres-append.c")


class BuildFailed(Exception):
    """A program could not be built; the compiler has said why."""


def all_programs(here, scratch, products):
    """Builds what is written in C, and these products of the package; the programs' paths by name.

    What needs libpq is left out where that is missing."""
    scratch.mkdir(parents=True, exist_ok=True)
    programs = {}
    compiler = [os.environ.get("CC", "cc"), "-O2", "-Wall", "-Wextra", "-Werror"]
    for name, (source, libraries) in C_PROGRAMS.items():
        programs[name] = scratch / name
        run(compiler + ["-o", programs[name], here / source] + libraries)
    if (libpq := libpq_options()) is not None:
        name, source = LIBPQ_PROGRAM
        programs[name] = scratch / name
        run(compiler + ["-o", programs[name], here / source] + libpq)
    named = os.environ.get("WAYSTATION_BINARY")
    for name in products:
        if name == "waystation" and named:
            programs[name] = pathlib.Path(named).resolve()
        else:
            programs[name] = swift(here.parent, "--product", name)
    return programs


def libpq_options():
    """What the compiler has to be told to find libpq; None where it is missing."""
    try:
        said = subprocess.run(
            ["pkg-config", "--cflags", "--libs", "libpq"], capture_output=True, text=True)
    except OSError:
        return None
    return said.stdout.split() if said.returncode == 0 else None


def swift(package, option, product):
    """Builds one product of the package as releases are, in a folder of its own, since other
    builds link Swift's libraries dynamically; the path of the program."""
    command = [
        "swift", "build", "--package-path", package, "-c", "release", "--static-swift-stdlib",
        "--scratch-path", package / ".build" / "as-released"]
    # Package.swift has the benchmarks' targets only where this is set.
    environment = os.environ | {"WAYSTATION_BENCHMARKS": "1"}
    run(command + [option, product], environment)
    shown = subprocess.run(
        [str(word) for word in command + ["--show-bin-path"]],
        env=environment, capture_output=True, text=True, check=True)
    return pathlib.Path(shown.stdout.strip()) / product


def run(command, environment=None):
    """Runs a compiler, whose words go to the terminal if it fails."""
    words = [str(word) for word in command]
    try:
        done = subprocess.run(words, env=environment, capture_output=True, text=True)
    except OSError as error:
        raise BuildFailed(f"{words[0]} cannot be run: {error}") from error
    if done.returncode != 0:
        raise BuildFailed(f"{' '.join(words)}\n{done.stdout}{done.stderr}")
