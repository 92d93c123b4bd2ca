"""The list of mistakes: reading it, and holding it to the sources that it is about.

A file of `list/` has a block for each mistake, with an empty line between two:

    longest-wait: no wait exceeds the longest one
    file Sources/RelayCore/Delivery/RetryPolicy.swift
    in return bound >= Double(maxDelayMs)
    tests RelayCoreTests RetryTests
    - maxDelayMs
    + maxDelayMs * 2

The first line has its name and the promise that it breaks. `-` has the text that the file has today,
`+` what stands there instead; both are one whole expression, or, with a line `statements`, one or more
whole statements, and then `+` may be left out. Where the text alone stands in the file more than once,
`in` has a longer one that stands there once, and in which the text stands once. `tests` has the test
target that should notice it, and a regular expression for the suites and tests to try first.
"""

import re
from dataclasses import dataclass, field
from pathlib import Path

LISTS = Path(__file__).parent / "list"
NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


class ListError(Exception):
    """Something in the list does not hold."""


@dataclass
class Mistake:
    """One change of one text in one file."""

    name: str
    promise: str
    origin: str
    file: str = ""
    within: str = ""
    target: str = ""
    suites: str = ""
    old: str = ""
    new: str = ""
    is_statements: bool = False
    number: int = 0
    # Where the text stands in the file, once it was looked for.
    span: tuple = field(default=(0, 0))

    def find(self, text):
        """Finds the one place in the file's text; raises ListError where there is none or more."""
        start, end = 0, len(text)
        if self.within:
            start = self._only(self.within, text, 0, end)
            end = start + len(self.within)
        start = self._only(self.old, text, start, end)
        self.span = (start, start + len(self.old))

    def _only(self, part, text, start, end):
        count = text.count(part, start, end)
        if count != 1:
            raise ListError(f"{self.origin}: {self.name}: {self.file} has this {count} times, and not"
                            f" once: {part.strip()}")
        return text.index(part, start, end)


def read():
    """All mistakes, in the order of the files and of the blocks in them, numbered from 1."""
    mistakes = []
    for path in sorted(LISTS.glob("*.txt")):
        for block in _blocks(path.read_text(encoding="utf-8")):
            mistakes.append(_mistake(block, path.name))
    names = [mistake.name for mistake in mistakes]
    for name in names:
        if names.count(name) > 1:
            raise ListError(f"two mistakes are called {name}")
    for number, mistake in enumerate(mistakes, start=1):
        mistake.number = number
    return mistakes


def _blocks(text):
    block = []
    for line in [*text.splitlines(), ""]:
        if line.startswith("#"):
            continue
        if line.strip():
            block.append(line)
        elif block:
            yield block
            block = []


def _mistake(block, origin):
    name, _, promise = block[0].partition(": ")
    if not NAME.fullmatch(name) or not promise:
        raise ListError(f"{origin}: a block begins with 'name: promise', and not with: {block[0]}")
    mistake = Mistake(name, promise, origin)
    olds, news = [], []
    for line in block[1:]:
        word, _, rest = line.partition(" ")
        if word == "file":
            mistake.file = rest
        elif word == "in":
            mistake.within = rest
        elif word == "tests":
            mistake.target, _, mistake.suites = rest.partition(" ")
        elif word == "statements":
            mistake.is_statements = True
        elif word == "-":
            olds.append(rest)
        elif word == "+":
            news.append(rest)
        else:
            raise ListError(f"{origin}: {name}: nothing is said by: {line}")
    mistake.old, mistake.new = "\n".join(olds), "\n".join(news)
    if not (mistake.file and mistake.target and mistake.old):
        raise ListError(f"{origin}: {name}: file, tests and - are needed")
    if not mistake.new and not mistake.is_statements:
        raise ListError(f"{origin}: {name}: an expression has to become another one")
    if mistake.new == mistake.old:
        raise ListError(f"{origin}: {name}: nothing changes")
    re.compile(mistake.suites)
    return mistake


def check(root, mistakes):
    """What does not hold of the list for the sources under `root`, one sentence each."""
    findings = []
    for file in sorted({mistake.file for mistake in mistakes}):
        path = Path(root, file)
        if not path.is_file():
            findings.append(f"there is no {file}")
            continue
        text = path.read_text(encoding="utf-8")
        findings += _check_file(text, [mistake for mistake in mistakes if mistake.file == file])
    for mistake in mistakes:
        if not Path(root, "Tests", mistake.target).is_dir():
            findings.append(f"{mistake.origin}: {mistake.name}: there is no Tests/{mistake.target}")
    return findings


def _check_file(text, mistakes):
    findings, found = [], []
    for mistake in mistakes:
        try:
            mistake.find(text)
            found.append(mistake)
        except ListError as error:
            findings.append(str(error))
    found.sort(key=lambda mistake: mistake.span)
    for first, second in zip(found, found[1:]):
        if second.span[0] < first.span[1]:
            findings.append(f"{first.name} and {second.name} overlap in {first.file}")
    return findings
