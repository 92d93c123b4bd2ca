"""Rules on who may import whom, and on which target alone calls which C library."""

import re

from .repository import Finding
from .swift_code import code_only

SYSTEM = {"Glibc", "Synchronization"}

# The one way that imports run: target -> what it may import, besides SYSTEM.
IMPORTS = {
    "JSON": set(),
    "RelayCore": set(),
    "EventLoop": {"CLinux", "RelayCore"},
    "Cryptography": {"COpenSSL"},
    "Compression": {"CZlib"},
    "HTTPServer": {"EventLoop", "Cryptography", "RelayCore"},
    "SQLiteStore": {"CSQLite", "RelayCore", "EventLoop"},
    "Forwarder": {"CCurl", "Cryptography", "RelayCore", "EventLoop"},
    "RelayServer": {
        "CPage", "JSON", "RelayCore", "EventLoop", "Cryptography", "Compression", "HTTPServer",
        "SQLiteStore", "Forwarder"},
    "waystation": {
        "RelayServer", "HTTPServer", "SQLiteStore", "EventLoop", "RelayCore", "JSON", "Forwarder"},
}

# These decide, and touch no system: they import nothing at all.
PURE = {"JSON", "RelayCore"}

# C module -> (the names it brings, the target that is its one gate).
GATES = {
    "CSQLite": (r"\bsqlite3_\w+", "SQLiteStore"),
    "CCurl": (r"\bcurl_\w+", "Forwarder"),
    "COpenSSL": (r"\b(?:SSL|EVP|X509|BIO|PEM)_\w+", "Cryptography"),
    "CLinux": (r"\bepoll_\w+", "EventLoop"),
    "CPage": (r"\bpage_file\b", "RelayServer"),
    "CZlib": (r"\b(?:inflate|deflate)(?:Init|End|Reset)\w*", "Compression"),
}

# Tests that play a peer which breaks the rules, and so need what only the gate may use otherwise.
PEERS = {("HTTPServerTests", "COpenSSL"), ("ForwarderTests", "COpenSSL")}

IMPORT = re.compile(
    r"^[ \t]*(?:@\w+(?:\([^)]*\))?\s+)*(?:(?:package|public|internal|private|fileprivate)\s+)?"
    r"import\s+(?:(?:struct|class|enum|protocol|typealias|func|var|let)\s+)?(\w+)", re.MULTILINE)


def check(repository):
    yield from _folders(repository)
    for path, text in repository.select("Sources", "Tests"):
        code = code_only(text)
        target = path.split("/")[1]
        if path.startswith("Sources/"):
            yield from _imports(path, target, code)
        yield from _gates(path, target, code)


def _folders(repository):
    for path, _ in repository.select("Sources"):
        target = path.split("/")[1]
        if target not in IMPORTS:
            yield Finding(path, 1, "layers",
                          f"target {target} has no line in scripts/tidylib/layers.py")


def _line(code, at):
    return code.count("\n", 0, at) + 1


def _imports(path, target, code):
    for match in IMPORT.finditer(code):
        module, number = match.group(1), _line(code, match.start(1))
        if target in PURE:
            yield Finding(path, number, "imports",
                          f"{target} decides and imports nothing, not even {module}")
        elif module not in IMPORTS.get(target, set()) | SYSTEM:
            yield Finding(path, number, "imports",
                          f"{target} may not import {module}: imports run one way "
                          "(scripts/tidylib/layers.py has the table)")


def _gates(path, target, code):
    for module, (names, gate) in GATES.items():
        if target.removesuffix("Tests") == gate or (target, module) in PEERS:
            continue
        for match in re.finditer(names, code):
            yield Finding(path, _line(code, match.start()), "gates",
                          f"`{match.group()}`: only {gate} calls into this library")
        for match in IMPORT.finditer(code):
            if match.group(1) == module and path.startswith("Tests/"):
                yield Finding(path, _line(code, match.start(1)), "gates",
                              f"only {gate} and its tests import {module}")
