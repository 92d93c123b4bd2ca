"""The files of the repository, findings about them, and the exceptions that are allowed."""

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

IGNORED_FOLDERS = {".git", ".build", ".venv", "data", "__pycache__"}


@dataclass(frozen=True, order=True)
class Finding:
    """One place that breaks one rule, and what to do instead."""

    path: str
    line: int
    rule: str
    message: str

    def __str__(self):
        return f"{self.path}:{self.line}: {self.rule}: {self.message}"


class Repository:
    """What the rules look at: every text file that is, or could be, committed."""

    def __init__(self, root):
        self.root = Path(root)
        self.texts = {}
        for path in sorted(self._paths()):
            try:
                self.texts[path] = (self.root / path).read_text(encoding="utf-8")
            except (UnicodeDecodeError, FileNotFoundError, IsADirectoryError):
                continue  # a picture, or a file that was removed but not yet committed

    def _paths(self):
        if (self.root / ".git").exists():
            listed = subprocess.run(
                ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                cwd=self.root, check=True, capture_output=True, text=True).stdout
            return {path for path in listed.split("\0") if path}
        found = set()
        for folder, folders, names in os.walk(self.root):
            folders[:] = [name for name in folders if name not in IGNORED_FOLDERS]
            found |= {str(Path(folder, name).relative_to(self.root)) for name in names}
        return found

    def select(self, *folders, suffix=".swift"):
        """The paths and texts under any of the folders (all, if none is named)."""
        return [
            (path, text) for path, text in self.texts.items()
            if path.endswith(suffix)
            and (not folders or any(path.startswith(folder + "/") for folder in folders))
        ]


class Allowed:
    """The exceptions of scripts/tidy.allow: `rule path reason`, one a line."""

    REASON_WORDS_MIN = 3

    def __init__(self, text, path="scripts/tidy.allow"):
        self.path = path
        self.entries = {}
        self.findings = []
        self.used = set()
        for number, line in enumerate(text.splitlines(), start=1):
            if not line.strip() or line.lstrip().startswith("#"):
                continue
            words = line.split(None, 2)
            if len(words) < 3 or len(words[2].split()) < self.REASON_WORDS_MIN:
                self.findings.append(Finding(
                    path, number, "allow-file", "say `rule path reason`, the reason in words"))
                continue
            self.entries[(words[0], words[1])] = number

    def filter(self, findings):
        """The findings that no exception covers, and those that the exceptions cause."""
        kept = list(self.findings)
        for finding in findings:
            key = (finding.rule, finding.path)
            if key in self.entries:
                self.used.add(key)
            else:
                kept.append(finding)
        for key, number in self.entries.items():
            if key not in self.used:
                kept.append(Finding(
                    self.path, number, "allow-file",
                    f"'{key[0]} {key[1]}' covers nothing any more: remove it"))
        return sorted(kept)
