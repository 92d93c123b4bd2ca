"""All mistakes in one copy of the sources, each behind a switch, so that they are built once.

Building the tests takes minutes, and running the few that should notice a mistake takes seconds. So no
mistake has a build of its own: an expression becomes `(Mistake.isMade(7) ? (new) : (old))`, and
which one is made is the number in a file, read once by each process: also by a relay that a test
starts with an environment of its own.
"""

import json
import re
import subprocess
from pathlib import Path

SWITCH = '''import Glibc

/// Which mistake is made.
enum Mistake {{
  private static let number: Int = {{
    let file = open("{path}", O_RDONLY | O_CLOEXEC)
    guard file >= 0 else {{ return 0 }}
    defer {{ close(file) }}
    var text = [UInt8](repeating: 0, count: 16)
    let count = read(file, &text, text.count)
    return count > 0 ? Int(String(decoding: text[..<count], as: UTF8.self)) ?? 0 : 0
  }}()

  @inline(never)
  static func isMade(_ number: Int) -> Bool {{ Self.number == number }}
}}
'''

WARNINGS_ARE_ERRORS = ".treatAllWarnings(as: .error),"
# What is loaded into a relay at run time, so that nothing depends on it.
LOADED_BY = {"EndToEnd": ["ClockShim", "DiskShim", "SignalShim"]}


def instrumented(text, mistakes):
    """A file's text with all mistakes in it, and the lines that each of them takes there."""
    parts, lines, end, line = [], {}, 0, 1

    def add(piece):
        nonlocal line
        parts.append(piece)
        line += piece.count("\n")

    for mistake in sorted(mistakes, key=lambda mistake: mistake.span):
        add(text[end:mistake.span[0]])
        first = line
        if mistake.is_statements:
            add(f"if Mistake.isMade({mistake.number}) {{ {mistake.new} }} else {{ {mistake.old} }}")
        else:
            add(f"(Mistake.isMade({mistake.number}) ? ({mistake.new}) : ({mistake.old}))")
        lines[mistake.name] = range(first, line + 1)
        end = mistake.span[1]
    add(text[end:])
    return "".join(parts), lines


class Copy:
    """A copy of the tree with all mistakes in it; what did not change keeps its time and its build."""

    def __init__(self, root, folder):
        self.root = Path(root)
        self.tree = Path(folder, "tree")
        self.switch = Path(folder, "mistake")
        self.places = {}

    def write(self, mistakes, test_targets):
        """Puts the tree of now there, with these mistakes, and no tests but those of some targets."""
        self.tree.mkdir(parents=True, exist_ok=True)
        self.make(0)
        files = self._files()
        for path in list(self.tree.rglob("*")):
            name = str(path.relative_to(self.tree))
            if path.is_file() and not name.startswith(".build/") and name not in files:
                path.unlink()
        self.places = {}
        for name, content in files.items():
            chosen = [mistake for mistake in mistakes if mistake.file == name]
            if chosen:
                text, self.places[name] = instrumented(content.decode(), chosen)
                content = text.encode()
            self._put(name, content)
        for module in {Path(mistake.file).parts[1] for mistake in mistakes}:
            self._put(f"Sources/{module}/Mistake.swift", SWITCH.format(path=self.switch).encode())
        self._put_manifest(files["Package.swift"].decode(), test_targets)

    def _files(self):
        listed = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            cwd=self.root, check=True, capture_output=True, text=True).stdout
        names = [name for name in listed.split("\0") if name and Path(self.root, name).is_file()]
        return {name: Path(self.root, name).read_bytes() for name in names}

    def _put(self, name, content):
        path = self.tree / name
        if path.is_file() and path.read_bytes() == content:
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        source = self.root / name
        if source.is_file():
            path.chmod(source.stat().st_mode)

    def _put_manifest(self, text, test_targets):
        # What a mistake leaves unused is no reason not to try it.
        text = text.replace(WARNINGS_ARE_ERRORS, "")
        dropped, products = self._dropped(text, test_targets)
        text += ("\n// Nothing but what the tests need that are run.\n"
                 f"let dropped: Set<String> = {json.dumps(sorted(dropped))}\n"
                 f"let droppedProducts: Set<String> = {json.dumps(sorted(products))}\n"
                 "package.targets.removeAll { dropped.contains($0.name) }\n"
                 "package.products.removeAll { droppedProducts.contains($0.name) }\n")
        self._put("Package.swift", text.encode())

    def _dropped(self, text, test_targets):
        """The targets and the products that no test needs."""
        self._put("Package.swift", text.encode())
        described = json.loads(subprocess.run(
            ["swift", "package", "dump-package"], cwd=self.tree, check=True, capture_output=True,
            text=True).stdout)
        needs = {target["name"]: [next(iter(need.values()))[0] for need in target["dependencies"]]
                 for target in described["targets"]}
        kept, left = set(), list(test_targets)
        while left:
            name = left.pop()
            if name not in kept:
                kept.add(name)
                left += needs[name] + LOADED_BY.get(name, [])
        products = {product["name"] for product in described["products"]
                    if not kept.issuperset(product["targets"])}
        return set(needs) - kept, products

    def make(self, number):
        """Has the mistake of this number made from now on; 0 for none."""
        self.switch.write_text(str(number), encoding="ascii")

    def mistakes_at(self, output):
        """The names of the mistakes that errors of the compiler are about."""
        found = set()
        for name, line in re.findall(r"^(\S+?\.swift):(\d+):\d+: error:", output, re.MULTILINE):
            file = str(Path(name).relative_to(self.tree)) if name.startswith(str(self.tree)) else name
            for mistake, lines in self.places.get(file, {}).items():
                if int(line) in lines:
                    found.add(mistake)
        return found
