"""Rules on who may import whom, on the order of a target's rooms, and on the gates to C libraries."""

import re
from pathlib import PurePosixPath

from .repository import Finding
from .swift_code import code_only

SYSTEM = {"Glibc", "Synchronization"}
# What stands in for Glibc on the other platforms of the device's library.
PLATFORMS = {"Darwin", "Musl", "Dispatch"}
# What apps have anyway: Foundation, whose URLSession is a module of its own on Linux.
FOUNDATION = {"Foundation", "FoundationNetworking"}
# What only Apple's systems have; Tests/Support/AppleStubs has a stub of each but the first.
APPLE = {"Dispatch", "CryptoKit", "Network", "Security", "UIKit"}

# The one way that imports run: target -> what it may import, besides SYSTEM.
IMPORTS = {
    "JSON": set(),
    "RelayCore": set(),
    "EventLoop": {"CLinux", "RelayCore"},
    "Cryptography": {"COpenSSL", "RelayCore"},
    "Compression": {"CZlib"},
    "HTTPServer": {"EventLoop", "Cryptography", "RelayCore"},
    "SQLite": {"CSQLite", "RelayCore"} | PLATFORMS,
    "SQLitePages": {"SQLite", "RelayCore"} | PLATFORMS,
    "SQLiteStore": {"SQLitePages", "SQLite", "Cryptography", "RelayCore", "EventLoop"},
    "Postgres": {"CPostgres"},
    "PostgresStore": {"Postgres", "RelayCore", "EventLoop"},
    "Forwarder": {"CCurl", "Cryptography", "RelayCore", "EventLoop"},
    "WaystationOutbox": {"SQLitePages", "SQLite", "RelayCore", "JSON"} | PLATFORMS,
    "WaystationOutboxCurl": {
        "WaystationOutbox", "Forwarder", "Compression", "Cryptography", "RelayCore", "EventLoop"},
    "WaystationOutboxFoundation": {"WaystationOutbox", "RelayCore"} | FOUNDATION | APPLE,
    "WaystationOutboxTesting": {"WaystationOutbox", "RelayCore", "JSON"},
    "RelayServer": {
        "CPage", "JSON", "RelayCore", "EventLoop", "Cryptography", "Compression", "HTTPServer",
        "SQLite", "SQLiteStore", "Postgres", "PostgresStore", "Forwarder"},
    "waystation": {
        "RelayServer", "HTTPServer", "SQLiteStore", "EventLoop", "RelayCore", "JSON", "Forwarder",
        "WaystationOutbox", "CStart"},
}

# The rooms of a target, lowest first: folders below `Sources/TARGET`, and "." for that folder itself.
# Every file lies in one of them, and names top-level types of its own room and of lower ones alone.
# A target without a line here has no rooms yet. What an extension adds to a type is not followed to
# its file: such a file belongs into the lowest room that uses it.
ROOMS = {
    "RelayCore": [
        "Text", "Collections", "Time", "Envelopes", "Delivery", "Limits", "Receipts", "Storing", "Moving",
        "Leases", "Planning", "Observing", "Needs", "Scheduling"],
    "SQLiteStore": [
        "Basics", "Files", "Bodies", "Schema", "Pages", "Tables", "Store",
        "Accepting", "Changing", "Listing", "Retention", "Events", "Operators", "Check",
        "Salvage", "Opening", "Moving"],
    "PostgresStore": [
        "Schema", "Database", "Bodies", "Reading", "Writing", "Operators", "Store", "Moving"],
    "RelayServer": [
        "Text", "Settings", "Telemetry/Log", "Telemetry/Metrics", "Telemetry/Traces", "Receipts",
        "Engine/Limits", "Engine/References", "Engine/Needs",
        "Engine/Batches", "Engine/Dispatch", "Engine/Upkeep",
        "API/Problems", "API/Access", "API/Reading", "API/Answers", "API/Page", "API/Listening",
        "API/Routes", "API/Posting", "API/Asking", "API/Steering", "API/Streams",
        "API/Passing", "Relay", "Moving"],
    "Forwarder": [".", "Passing"],
    "WaystationOutbox": ["System", "Terms", "Receipts", "File", "Wire", "Core", "Running", "Outbox"],
    "WaystationOutboxFoundation": ["Coding", "Apple", "Transport"],
    "waystation": [
        "Terminal", "System", "CommandLine", "Help", "Serve", "Health", "Sink", "Operator",
        "Token", "Store", "Keys", "Listing", "Sending", "Audit", "."],
}

# These decide, and touch no system: they import nothing at all.
PURE = {"JSON", "RelayCore"}

# What shows the rooms and the files to strangers.
DOCUMENT = "docs/architecture.md"

# C module -> (the names it brings, the target that is its one gate).
GATES = {
    "CSQLite": (r"\bsqlite3_\w+", "SQLite"),
    "CCurl": (r"\bcurl_\w+", "Forwarder"),
    "COpenSSL": (r"\b(?:SSL|EVP|X509|BIO|PEM)_\w+", "Cryptography"),
    "CPostgres": (r"\bPQ[a-z]\w+", "Postgres"),
    "CLinux": (r"\bepoll_\w+", "EventLoop"),
    "CPage": (r"\bpage_file\b", "RelayServer"),
    "CZlib": (r"\b(?:inflate|deflate)(?:Init|End|Reset)\w*", "Compression"),
}

# Tests that play a peer which breaks the rules, and so need what only the gate may use otherwise.
PEERS = {("HTTPServerTests", "COpenSSL"), ("ForwarderTests", "COpenSSL")}

IMPORT = re.compile(
    r"^[ \t]*(?:@\w+(?:\([^)]*\))?\s+)*(?:(?:package|public|internal|private|fileprivate)\s+)?"
    r"import\s+(?:(?:struct|class|enum|protocol|typealias|func|var|let)\s+)?(\w+)", re.MULTILINE)

# A type that other files of its target can name: declared without indentation, and not private.
TYPE = re.compile(
    r"^(?:@\w+(?:\([^)]*\))?\s+)*(?:(?:package|public|internal|final|indirect|nonisolated)\s+)*"
    r"(?:struct|class|enum|actor|protocol|typealias)\s+(\w+)", re.MULTILINE)
# A type of any kind, wherever it is declared.
OWN_TYPE = re.compile(r"\b(?:struct|class|enum|actor|protocol|typealias|associatedtype)\s+(\w+)")
# A name that is no member of something: nested types and cases of enumerations have theirs.
NAME = re.compile(r"(?<![\w.])[A-Z]\w*")


# One declaration of a target's tests in the manifest: a smaller package (scripts/simulate) has its own.
TESTS = re.compile(r'\btests\(\s*of:\s*"(\w+)"(?:,\s*\[([^\]]*)\])?\s*,?\s*\)')


def check(repository):
    yield from _folders(repository)
    yield from _declared(repository)
    for target, rooms in ROOMS.items():
        yield from _rooms(repository, target, rooms)
    for path, text in repository.select("Sources", "Tests"):
        code = code_only(text)
        target = path.split("/")[1]
        if path.startswith("Sources/"):
            yield from _imports(path, target, code)
        yield from _gates(path, target, code)
    if DOCUMENT in repository.texts:
        yield from _tables(repository.texts[DOCUMENT])
    yield from _places(repository)


def _tables(text):
    """Holds the document's tables of rooms to the rooms."""
    tables, rooms = {}, []
    for number, line in enumerate(text.splitlines(), start=1):
        if head := re.match(r"\| `(\w+)` \| what is in it \|", line):
            rooms = tables.setdefault(head.group(1), [])
        elif not line.startswith("|"):
            rooms = []
        elif cell := re.match(r"\| ((?:`[\w/]+`(?:, )?)+|the folder itself) \|", line):
            rooms += re.findall(r"`([\w/]+)`", cell.group(1)) or ["."]
    for target in sorted(tables.keys() | ROOMS.keys()):
        if tables.get(target) != ROOMS.get(target):
            yield Finding(DOCUMENT, 1, "document", f"its table of the rooms of {target} says "
                          f"{tables.get(target)}, and scripts/tidylib/layers.py {ROOMS.get(target)}")


def _places(repository):
    """Holds every file, folder and type that the documents name to what is there."""
    places = {str(PurePosixPath(path).with_suffix(""))
              for path, _ in repository.select("Sources", "Tests")}
    places |= {str(folder) for place in places for folder in PurePosixPath(place).parents}
    names = set().union(*(re.findall(r"\w+", code)
                          for _, code in repository.select("Sources", "Tests")))
    for path in (DOCUMENT, "CONTRIBUTING.md"):
        lines = repository.texts.get(path, "").splitlines()
        for number, line in enumerate(lines, start=1):
            # The first cell of a row names a room or a target, which are looked at elsewhere.
            said = re.sub(r"^\|[^|]*\|", "", line)
            for name in re.findall(r"`([A-Z][\w/+]+?)/?(?:\.swift)?`", said):
                is_there = (any(f"/{place}".endswith(f"/{name}") for place in places)
                            or (repository.root / name).exists()
                            or (repository.root / f"{name}.swift").exists())
                if not is_there and ("/" in name or "+" in name or name not in names):
                    yield Finding(path, number, "document", f"`{name}` is no file, folder or name")


def _declared(repository):
    """Holds each declaration of tests to what they import.

    The compiler finds a module that is not declared as long as something else has it built before.
    """
    manifest = repository.texts.get("Package.swift", "")
    own = set(re.findall(r'(?:target|systemLibrary)\(\s*(?:name:\s*)?"([\w-]+)"', manifest, re.IGNORECASE))
    for declaration in TESTS.finditer(manifest):
        tested, listed = declaration.group(1), declaration.group(2) or ""
        declared = {tested, *re.findall(r'"(\w+)"', listed)}
        imported = {match.group(1)
                    for _, text in repository.select(f"Tests/{tested}Tests")
                    for match in IMPORT.finditer(code_only(text))}
        for module in sorted((imported & own) - declared):
            yield Finding("Package.swift", _line(manifest, declaration.start()), "declared",
                          f"the tests of {tested} import {module}: declare it")


def _folders(repository):
    for path, _ in repository.select("Sources"):
        target = path.split("/")[1]
        if target not in IMPORTS:
            yield Finding(path, 1, "layers",
                          f"target {target} has no line in scripts/tidylib/layers.py")


def _rooms(repository, target, rooms):
    """Holds the files of a target to the order of its rooms."""
    codes, room_of, owner = {}, {}, {}
    for path, text in repository.select(f"Sources/{target}"):
        room = str(PurePosixPath(path).parent.relative_to(f"Sources/{target}"))
        if room not in rooms:
            yield Finding(path, 1, "rooms", f"lies in no room of {target}: "
                          "put it into one that scripts/tidylib/layers.py lists")
            continue
        codes[path], room_of[path] = code_only(text), rooms.index(room)
        owner.update((match.group(1), path) for match in TYPE.finditer(codes[path]))
    for path, code in codes.items():
        known = {match.group(1) for match in OWN_TYPE.finditer(code)}
        for match in NAME.finditer(code):
            name = match.group()
            if name in known or name not in owner:
                continue
            known.add(name)
            there, here = room_of[owner[name]], room_of[path]
            if there > here:
                yield Finding(path, _line(code, match.start()), "rooms",
                              f"names {name}, which lies in {rooms[there]}: {rooms[here]} is a "
                              "lower room (scripts/tidylib/layers.py has their order)")


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
