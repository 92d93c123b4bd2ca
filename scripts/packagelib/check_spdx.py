"""Whether a list of spdx_list.py says what is in the packages.

Usage: check_spdx.py LIST PACKAGE…: the list, and a .deb or .tar.gz for each of its packages.
"""

import hashlib
import io
import json
import pathlib
import subprocess
import sys
import tarfile


def members(path):
    """The package's files by their names in the list, and their SHA-256."""
    if path.suffix == ".deb":
        data = subprocess.run(["dpkg-deb", "--fsys-tarfile", path], check=True,
                              capture_output=True).stdout
        archive, depth = tarfile.open(fileobj=io.BytesIO(data)), 0
    else:
        archive, depth = tarfile.open(path), 1
    with archive:
        return {"./" + "/".join(pathlib.PurePosixPath(one.name).parts[depth:]):
                hashlib.sha256(archive.extractfile(one).read()).hexdigest()
                for one in archive if one.isfile()}


def faults(listed, packages):
    """What is wrong, in sentences."""
    every = [listed["SPDXID"], *(one["SPDXID"] for one in listed["packages"] + listed["files"])]
    if len(set(every)) != len(every):
        yield "an identifier is there twice"
    for relation in listed["relationships"]:
        for end in (relation["spdxElementId"], relation["relatedSpdxElement"]):
            if end not in every:
                yield f"{end} is related to something, and not there"
    names = [one["name"] for one in listed["packages"]]
    for name in ("libsqlite3-0", "Swift standard library and runtime"):
        if name not in names:
            yield f"it does not name {name}"
    files = {one["SPDXID"]: one for one in listed["files"]}
    entries = {one.get("packageFileName"): one for one in listed["packages"]}
    for path in packages:
        entry = entries.get(path.name)
        if entry is None:
            yield f"it does not have {path.name}"
            continue
        if entry["checksums"][0]["checksumValue"] != hashlib.sha256(path.read_bytes()).hexdigest():
            yield f"its checksum of {path.name} is another one"
        told = {files[one]["fileName"]: files[one]["checksums"][1]["checksumValue"]
                for one in entry["hasFiles"]}
        if told != members(path):
            yield f"it does not say what is in {path.name}"


def main():
    """Prints what is wrong, and ends with 1 if anything is."""
    path, *packages = map(pathlib.Path, sys.argv[1:])
    found = list(faults(json.loads(path.read_text(encoding="utf-8")), packages))
    for fault in found:
        print(f"{path.name}: {fault}", file=sys.stderr)
    sys.exit(1 if found else 0)


main()
