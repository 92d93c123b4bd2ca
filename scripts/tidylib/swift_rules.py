"""Rules on Swift files: lengths, calls with something better, soundness, tests that test."""

import re
from collections import Counter

from .repository import Finding
from .swift_code import code_only, functions

FILE_LINES_MAX = 400
LINE_CHARACTERS_MAX = 100
FUNCTION_LINES_MAX = 60
SOUND_LINES_BEFORE = 6

DECLARED_TO_OTHERS = re.compile(
    r"^\s*(?:@\w+(?:\([^)]*\))?\s+)*(?:public|package|open)\s+(?:\w+\s+)*?"
    r"(?P<kind>func|var|let|struct|enum|class|actor|protocol|init|subscript|typealias)\b")

# A type that is declared without indentation and not private, and a type that is extended.
TOP_TYPE = re.compile(
    r"^(?:@\w+(?:\([^)]*\))?\s+)*(?:(?:package|public|internal|final|indirect|nonisolated)\s+)*"
    r"(?:struct|class|enum|actor|protocol|typealias)\s+(\w+)", re.MULTILINE)
EXTENDED = re.compile(r"^(?:\w+\s+)?extension\s+([\w.]+)", re.MULTILINE)

# A member of a type, or what a file keeps for itself: what nobody else in it, or in the repository,
# names is not used.
OWN_MEMBER = re.compile(
    r"^\s*(?:@\w+(?:\([^)]*\))?\s+)*"
    r"(?P<modifiers>(?:\w+(?:\([^)]*\))?\s+)*?(?:static|private|fileprivate)\s+"
    r"(?:\w+(?:\([^)]*\))?\s+)*?)(?:let|var|func)\s+(?P<name>\w+)", re.MULTILINE)
COMMENT = re.compile(r"(?m)^\s*//.*$|\s//\s.*$")
CALLED_BY_THE_COMPILER = {"buildBlock", "buildExpression"}

# (rule, pattern, folders, folders that may, what to do instead)
BANNED = [
    ("force-try", r"\btry!", ["Sources"], [],
     "throw on, or handle the error where something can be done about it"),
    ("force-cast", r"\bas!", ["Sources"], [], "use `as?`, or a type that needs no cast"),
    ("fatal-error", r"\bfatalError\s*\(", ["Sources"], [],
     "a programmer's mistake is a `precondition`; anything else is a typed throw"),
    ("foundation", r"\bimport\s+(?:\w+\s+)?(?:Foundation\w*|Dispatch)\b", ["Sources"],
     ["Sources/WaystationOutboxFoundation"],
     "it costs start-up time and size; use Glibc, the standard library or Synchronization"),
    ("print", r"(?<![\w.])(?:debugPrint|print|dump)\s*\(", ["Sources"], ["Sources/waystation"],
     "only the command prints; everything else goes through the log"),
    ("sleep", r"\b(?:usleep|nanosleep|sleep)\s*\(", ["Tests"], [],
     "wait for the event itself, never for time"),
]


def check(repository):
    for path, text in repository.select():
        code = code_only(text)
        yield from _name(path, code)
        yield from _lengths(path, text, code)
        yield from _banned(path, code)
        yield from _sound(path, text, code)
        yield from _documented(path, text, code)
        yield from _tests(path, code)
    yield from _unused(repository)


def _name(path, code):
    """A file is named after its type, after what it adds to one, or after the subject of several."""
    if not path.startswith("Sources/"):
        return
    name = path.rsplit("/", 1)[1].removesuffix(".swift")
    types = TOP_TYPE.findall(code)
    extended = {part for found in EXTENDED.findall(code)
                for part in (found.split(".")[0], found.split(".")[-1], found.replace(".", ""))}
    if "+" in name:
        base = name.split("+")[0]
        if base not in extended and base not in types:
            yield Finding(path, 1, "file-name", f"adds nothing to {base}")
    elif not types and extended:
        yield Finding(path, 1, "file-name",
                      "only extends types of other files: call it `Type+Aspect.swift`")
    elif len(types) == 1 and types[0] != name:
        yield Finding(path, 1, "file-name", f"declares {types[0]} alone: call it {types[0]}.swift")


def _lengths(path, text, code):
    lines = text.splitlines()
    if len(lines) > FILE_LINES_MAX:
        yield Finding(path, 1, "file-length",
                      f"{len(lines)} lines, over {FILE_LINES_MAX}: split it by idea")
    for number, line in enumerate(lines, start=1):
        if len(line) > LINE_CHARACTERS_MAX:
            yield Finding(path, number, "line-length",
                          f"{len(line)} characters, over {LINE_CHARACTERS_MAX}")
    for name, first, count in functions(code):
        if count > FUNCTION_LINES_MAX:
            yield Finding(path, first, "function-length",
                          f"{name} has {count} lines, over {FUNCTION_LINES_MAX}: name its parts")


def _under(path, folders):
    return any(path.startswith(folder + "/") for folder in folders)


def _banned(path, code):
    for rule, pattern, folders, may, instead in BANNED:
        if not _under(path, folders) or _under(path, may):
            continue
        for match in re.finditer(pattern, code):
            number = code.count("\n", 0, match.start()) + 1
            if re.search(r"\bfunc\s+$", code[:match.start()]):
                continue  # a declaration of that name is not the call
            yield Finding(path, number, rule, f"`{match.group().strip()}`: {instead}")


def _sound(path, text, code):
    lines = text.splitlines()
    for number, line in enumerate(code.splitlines(), start=1):
        if not re.search(r"@unchecked\s+Sendable|nonisolated\(unsafe\)", line):
            continue
        near = lines[max(0, number - 1 - SOUND_LINES_BEFORE):number]
        if not any("Sound:" in nearby for nearby in near):
            yield Finding(path, number, "sound",
                          "say why it is sound: a comment with `Sound:`, at most "
                          f"{SOUND_LINES_BEFORE} lines above")


def _documented(path, text, code):
    """swift-format asks this of `public` alone, and between our targets all is `package`."""
    if not path.startswith("Sources/"):
        return
    lines = text.splitlines()
    for number, line in enumerate(code.splitlines(), start=1):
        match = DECLARED_TO_OTHERS.match(line)
        if not match:
            continue
        above = number - 2
        while above >= 0 and re.match(r"\s*(?:@|#if\b|#else\b)", lines[above]):
            above -= 1
        if above < 0 or not re.match(r"\s*(?:///|.*\*/\s*$)", lines[above]):
            if match.group("kind") == "var" and _has_record(line, text):
                continue
            yield Finding(path, number, "documented",
                          f"a {match.group('kind')} that other targets see needs a `///` comment")


def _has_record(line, text):
    """What a key of the configuration means stands in its record, which has to say so."""
    name = re.search(r"\bvar\s+(\w+)", line)
    return name and re.search(r'\b(?:Key|Key\.\w+)\(\s*(?:(?:\w+: )?"\w+", )?\\\.%s\b' % name.group(1),
                              text)


def _unused(repository):
    """Lists that nobody reads, and the like: neither the compiler nor a test misses them."""
    texts = {path: COMMENT.sub("", text)
             for path, text in repository.select("Sources", "Tests", "Benchmarks")}
    counts = {path: Counter(re.findall(r"\w+", text)) for path, text in texts.items()}
    everywhere = sum(counts.values(), Counter())
    for path, text in texts.items():
        if not path.startswith("Sources/"):
            continue
        for match in OWN_MEMBER.finditer(text):
            name = match.group("name")
            is_private = re.search(r"\b(?:file)?private\b(?!\()", match.group("modifiers"))
            count = counts[path][name] if is_private else everywhere[name]
            if count == 1 and name not in CALLED_BY_THE_COMPILER:
                yield Finding(path, text.count("\n", 0, match.start("name")) + 1, "unused",
                              f"nothing names {name}: use it, or take it out")


def _tests(path, code):
    if not path.startswith("Tests/") or "/Support/" in path or path.startswith("Tests/Fuzz/"):
        return  # a fuzzer holds by trapping
    if not re.search(r"#expect\b|#require\b|\bIssue\.record\b", code):
        yield Finding(path, 1, "test-asserts",
                      "it asserts nothing; a helper goes into Support/ or scripts/tidy.allow")
