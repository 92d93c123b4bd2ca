"""Prints what is in packages, and what they need, as SPDX 2.3 in JSON (https://spdx.github.io/spdx-spec/v2.3/).

Usage: spdx_list.py VERSION LIBRARIES PACKAGE=FOLDER…: the version, the Depends of the libraries as
dpkg-shlibdeps prints them, and each package's file with the folder that has its content.
SOURCE_DATE_EPOCH is the time that it says it was made at.
"""

import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import time

LICENSE = "Apache-2.0"


def digest(kind, path):
    """A file's digest, in hexadecimal."""
    return hashlib.new(kind, path.read_bytes()).hexdigest()


def swift_version():
    """The version of the Swift whose runtime the program contains."""
    said = subprocess.run(["swift", "--version"], check=False, capture_output=True, text=True)
    found = re.search(r"Swift version (\S+)", said.stdout)
    return found.group(1) if found else None


def component(identifier, name, license_id="NOASSERTION", **more):
    """A package of which the files are not listed."""
    return {"SPDXID": f"SPDXRef-{identifier}", "name": name, "downloadLocation": "NOASSERTION",
            "filesAnalyzed": False, "licenseConcluded": license_id, "licenseDeclared": license_id,
            "copyrightText": "NOASSERTION", **more}


def contents(number, package, folder, version):
    """The package's own entry, and those of its files."""
    files = []
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        files.append({
            "SPDXID": f"SPDXRef-Package-{number}-File-{len(files)}",
            "fileName": f"./{path.relative_to(folder)}",
            "checksums": [{"algorithm": kind.upper(), "checksumValue": digest(kind, path)}
                          for kind in ("sha1", "sha256")],
            "licenseConcluded": LICENSE, "licenseInfoInFiles": ["NOASSERTION"],
            "copyrightText": "NOASSERTION"})
    # Section 7.9: the SHA-1 of the sorted SHA-1s of all files.
    sums = sorted(file["checksums"][0]["checksumValue"] for file in files)
    code = hashlib.sha1("".join(sums).encode()).hexdigest()
    entry = component(f"Package-{number}", "waystation", LICENSE, versionInfo=version,
                      packageFileName=package.name)
    entry.update(
        filesAnalyzed=True, licenseInfoFromFiles=["NOASSERTION"],
        packageVerificationCode={"packageVerificationCodeValue": code},
        checksums=[{"algorithm": "SHA256", "checksumValue": digest("sha256", package)}],
        hasFiles=[file["SPDXID"] for file in files])
    return entry, files


def libraries(depends):
    """The entries of the libraries that are there already where the package is installed."""
    found = []
    for clause in depends.split(","):
        name, _, versions = clause.strip().partition(" ")
        more = {"versionInfo": versions.strip("()")} if versions else {}
        found.append(component("Library-" + re.sub(r"[^A-Za-z0-9.-]", "-", name), name, **more))
    return found


def document(version, depends, packages):
    """The whole list."""
    entries, files, relations = [], [], []

    def relate(left, kind, right):
        relations.append({"spdxElementId": left, "relationshipType": kind,
                          "relatedSpdxElement": right})

    swift = swift_version()
    runtime = component("Swift", "Swift standard library and runtime",
                        "Apache-2.0 WITH Swift-exception",
                        **({"versionInfo": swift} if swift else {}))
    needed = libraries(depends)
    for number, (package, folder) in enumerate(packages):
        entry, own = contents(number, package, folder, version)
        entries.append(entry)
        files += own
        relate("SPDXRef-DOCUMENT", "DESCRIBES", entry["SPDXID"])
        relate(entry["SPDXID"], "STATIC_LINK", runtime["SPDXID"])
        for library in needed:
            relate(entry["SPDXID"], "DYNAMIC_LINK", library["SPDXID"])
    told = [entry["checksums"][0]["checksumValue"] for entry in entries]
    name = hashlib.sha256("".join(told).encode()).hexdigest()
    created = time.gmtime(int(os.environ["SOURCE_DATE_EPOCH"]))
    return {
        "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT",
        "name": f"waystation-{version}",
        "documentNamespace": f"https://waystation.invalid/spdx/{version}/{name}",
        "creationInfo": {"created": time.strftime("%Y-%m-%dT%H:%M:%SZ", created),
                         "creators": ["Tool: scripts/packagelib/spdx_list.py"]},
        "packages": [*entries, runtime, *needed], "files": files, "relationships": relations}


def main():
    """Reads the arguments, and prints the list."""
    version, depends, *pairs = sys.argv[1:]
    packages = [tuple(map(pathlib.Path, pair.split("=", 1))) for pair in pairs]
    json.dump(document(version, depends, packages), sys.stdout, indent=1)
    print()


main()
