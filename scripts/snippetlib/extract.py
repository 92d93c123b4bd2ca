"""Makes Swift files of the blocks of Swift in the documents, for scripts/check-snippets to compile.

A block is the body of a function of its own. Comments, which readers do not see, say otherwise:

<!-- code: file -->      The next block is a file as it stands; later blocks may use what it declares.
<!-- code: manifest -->  The next block is a part of `Package(name: …, …)` in a Package.swift.
<!-- code: given
…
-->                      What later blocks of the document can use, and readers know by then.

Usage: extract.py FOLDER
"""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
IMPORT = re.compile(r"^import [\w.]+$")
MANIFEST = "manifests"


def blocks(path):
    """The blocks of a document: their kind, the number of their first line, their lines, what is given."""
    kind, given, lines, fence, comment = "body", [], [], None, None
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        if comment is not None:
            if line.strip() == "-->":
                given, comment = comment, None
            else:
                comment.append(line)
        elif fence is not None:
            if line.strip() == "```":
                yield kind, fence, lines, given
                kind, lines, fence = "body", [], None
            else:
                lines.append(line)
        elif line.strip() == "```swift":
            fence = number + 1
        elif line.strip() == "<!-- code: given":
            comment = []
        elif match := re.fullmatch(r"<!-- code: (file|manifest) -->", line.strip()):
            kind = match.group(1)


def word(path):
    """A path as a part of a name."""
    return re.sub(r"\W", "_", path)


def source(path, first, lines):
    """Lines that the compiler takes for those of the document."""
    return [f'#sourceLocation(file: "{path}", line: {first})', *lines, "#sourceLocation()"]


def body(path, first, lines, given):
    """A block as the body of a function."""
    own = ["" if IMPORT.match(line) else line for line in lines]
    return [f"func block{first}() async throws {{", *given, "do {",
            *source(path, first, own), "}", "}"]


def manifest(path, first, lines):
    """A block as a part of a manifest."""
    begin, end = f'let package_{word(path)}_{first} = Package(name: "app", ', ")"
    if lines[0].startswith(".product"):
        begin, end = begin + 'targets: [.target(name: "app", dependencies: [', "])])"
    return ["import PackageDescription", *source(path, first - 1, [begin, *lines, end])]


def main(folder):
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md"], cwd=ROOT,
        check=True, capture_output=True, text=True).stdout.split()
    count = 0
    for name in sorted(listed):
        found = list(blocks(ROOT / name))
        imports = sorted({line for _, _, lines, _ in found for line in lines if IMPORT.match(line)})
        for kind, first, lines, given in found:
            module = MANIFEST if kind == "manifest" else word(name)
            if kind == "manifest":
                text = manifest(name, first, lines)
            elif kind == "file":
                text = source(name, first, lines)
            else:
                text = imports + body(name, first, lines, given)
            target = folder / module
            target.mkdir(exist_ok=True)
            (target / f"{word(name)}_{first}.swift").write_text(
                "\n".join(text) + "\n", encoding="utf-8")
            count += 1
    print(f"check-snippets: {count} blocks of Swift in the documents", file=sys.stderr)


main(Path(sys.argv[1]))
