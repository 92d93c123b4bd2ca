"""Rules on every text file, and on what the documents say and point to."""

import posixpath
import re

from .repository import Finding

# Put together here, so that this file does not break its own rules.
UNFINISHED = re.compile(r"\b(?:" + "|".join(["TO" + "DO", "FIX" + "ME", "XX" + "X"]) + r")\b")
MACHINE_PATH = re.compile(r"(?<![\w.-])(?:/" + r"work/|/tmp/" + r"bash)")
LINK = re.compile(r"!?\[[^\]]*\]\(\s*<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\s*\)")
REFERENCE = re.compile(r"^\s*\[[^\]]+\]:\s+<?(\S+?)>?(?:\s|$)")
HEADING = re.compile(r"^#{1,6}\s+(.*?)\s*#*$")

# What a newcomer sees first; what a trial leaves behind is not among them.
TOP = {
    "CHANGELOG.md", "CONTRIBUTING.md", "Dockerfile", "LICENSE", "Makefile", "Package.swift",
    "README.md", "compose.cluster.yaml", "compose.yaml", "openapi.yaml",
}


def check(repository):
    for path, text in repository.texts.items():
        yield from _words(path, text)
        if "/" not in path and not path.startswith(".") and path not in TOP:
            yield Finding(path, 1, "top", "no such file belongs at the top: see TOP")
    for path, text in repository.select(suffix=".md"):
        yield from _links(repository, path, text)
    if "CHANGELOG.md" not in repository.texts:
        yield Finding("CHANGELOG.md", 1, "changelog", "there is none: say what changed for whom")


def _words(path, text):
    for number, line in enumerate(text.splitlines(), start=1):
        if match := UNFINISHED.search(line):
            yield Finding(path, number, "unfinished",
                          f"`{match.group()}`: finish it, or file an issue and say so in words")
        if match := MACHINE_PATH.search(line):
            yield Finding(path, number, "machine-path",
                          f"`{match.group()}…` is a path of one machine, not of the repository")


def _prose(text):
    """The lines outside fenced code, without what is between backticks."""
    fence = None
    for number, line in enumerate(text.splitlines(), start=1):
        opening = re.match(r"\s*(```+|~~~+)", line)
        if opening and fence is None:
            fence = opening.group(1)
        elif fence is not None:
            if line.strip().startswith(fence):
                fence = None
        else:
            yield number, re.sub(r"(`+).+?\1", "", line)


def anchors(text):
    """The anchors that GitHub gives the headings of a document."""
    found = set()
    fenced = False
    for line in text.splitlines():
        if re.match(r"\s*(```|~~~)", line):
            fenced = not fenced
        heading = None if fenced else HEADING.match(line)
        if heading:
            words = re.sub(r"[^\w\- ]", "", heading.group(1).replace("`", "")).strip().lower()
            anchor, count = words.replace(" ", "-"), 0
            while (anchor if count == 0 else f"{anchor}-{count}") in found:
                count += 1
            found.add(anchor if count == 0 else f"{anchor}-{count}")
    return found


def _links(repository, path, text):
    for number, line in _prose(text):
        targets = LINK.findall(line) + REFERENCE.findall(line)
        for target in targets:
            if re.match(r"[a-z][a-z0-9+.-]*:|//", target, re.IGNORECASE):
                continue  # of another site: nothing here can tell
            if message := _broken(repository, path, target):
                yield Finding(path, number, "links", message)


def _broken(repository, path, target):
    file, _, anchor = target.partition("#")
    linked = posixpath.normpath(posixpath.join(posixpath.dirname(path), file)) if file else path
    if linked.startswith("..") or not (repository.root / linked).exists():
        return f"`{target}` leads nowhere"
    if anchor and linked in repository.texts and linked.endswith(".md"):
        if anchor.lower() not in anchors(repository.texts[linked]):
            return f"`{target}`: {linked} has no such heading"
    return None
