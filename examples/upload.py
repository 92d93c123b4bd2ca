#!/usr/bin/env python3
"""An upload: hands one large file over to a Waystation relay, and goes on where it was cut off.

Usage:
  upload.py FILE PATH [CONTENT-TYPE]   posts FILE to PATH at the upstream "default"

It keeps nothing on the device: the upload's key is made of the client, the path and the file's
bytes. So a later run of the same command goes on with the same upload. Once that was taken, it is
told so, for as long as the relay remembers the key.

Settings, from the environment:
  WAYSTATION_SERVER   the relay's URL (http://127.0.0.1:8080)
  WAYSTATION_CLIENT   the client's name; required
  WAYSTATION_TOKEN    its token, if it has one
  WAYSTATION_LANE     the lane (default): one of its own keeps small envelopes from waiting behind files

Exit codes: 0 taken, 1 the relay refuses the file, 2 wrong use.

Needs Python 3.9 or later, and nothing else.
"""

import hashlib
import http.client
import json
import os
import random
import sys
import time
import urllib.parse

PIECE_BYTES = 1 << 16
TIMEOUT_SECONDS = 120
DELAY_MAX_SECONDS = 300
REFUSED, WRONG = 1, 2
# The problems that the relay names, and those that the IETF names for it.
RELAY, UPLOADS = "urn:waystation:problem:", "https://iana.org/assignments/http-problem-types#"
# What passes: the next round asks where to go on, or begins anew.
PASSING = {408, 409, 425, 429}


class Later(Exception):
    """The upload was cut off, or the relay takes nothing just now."""

    def __init__(self, why, seconds=None):
        super().__init__(why)
        self.seconds = seconds


class Refused(Exception):
    """Trying again would not help."""


def say(*words):
    print(*words, file=sys.stderr, flush=True)


def key_of(client, path, file):
    """A name for this file at this place, the same in each run."""
    digest = hashlib.sha256(f"{client}\n{path}\n".encode())
    file.seek(0)
    while piece := file.read(PIECE_BYTES):
        digest.update(piece)
    return "upload-" + digest.hexdigest()


class Upload:
    """One file on its way."""

    def __init__(self, url, file, fields, path):
        self.url, self.file, self.fields = urllib.parse.urlsplit(url), file, fields
        self.path = "/v1/relay/default/" + urllib.parse.quote(path.lstrip("/"), safe="/?=&%")
        self.size = file.seek(0, os.SEEK_END)

    def run(self):
        """Returns the relay's words once it has the whole file."""
        tries, best = 0, 0
        while True:
            try:
                taken, location, offset = self.begin()
                if offset > best:
                    tries, best = 0, offset
                return taken if location is None else self.go_on(location, offset)
            except Later as trouble:
                seconds = trouble.seconds
                if seconds is None:
                    seconds = min(DELAY_MAX_SECONDS, 2 ** min(tries, 16)) * random.uniform(0.5, 1)
                    tries += 1
                say(f"{trouble}; going on in {seconds:.1f} s")
                time.sleep(seconds)

    def begin(self):
        """Creates the upload, or finds it by its key.

        Returns where it is and how much of it the relay has; or the relay's words, if that is all.
        """
        fields = {**self.fields, "Upload-Complete": "?0", "Upload-Length": str(self.size)}
        status, answer, content = self.call("POST", self.path, fields, 0, 0)
        if status == 202 and "result" in content:
            return content, None, self.size
        location, offset = answer.get("Location"), answer.get("Upload-Offset", "")
        if status != 201 or not location or not offset.isdigit():
            raise Later(f"another than the relay answers {status}")
        return None, location, int(offset)

    def go_on(self, location, offset):
        """Sends what the relay does not have yet."""
        say(f"from byte {offset} of {self.size}")
        fields = {
            "Content-Type": "application/partial-upload",
            "Upload-Offset": str(offset),
            "Upload-Complete": "?1",
        }
        if "Authorization" in self.fields:
            fields["Authorization"] = self.fields["Authorization"]
        status, _, content = self.call("PATCH", location, fields, offset, self.size - offset)
        if status != 202 or "result" not in content:
            raise Later(f"another than the relay answers {status}")
        return content

    def call(self, method, path, fields, offset, count):
        """Sends bytes of the file; returns the status, the fields and the JSON of the answer."""
        secure = self.url.scheme == "https"
        make = http.client.HTTPSConnection if secure else http.client.HTTPConnection
        connection = make(self.url.hostname, self.url.port, timeout=TIMEOUT_SECONDS)
        try:
            self.file.seek(offset)
            connection.request(
                method, self.url.path.rstrip("/") + path, self.pieces(count),
                {**fields, "Content-Length": str(count)})
            answer = connection.getresponse()
            content = json.loads(answer.read() or b"{}")
        except (OSError, http.client.HTTPException) as error:
            raise Later(f"the link was cut: {error!r}") from None
        except ValueError:
            raise Later("another than the relay answers") from None
        finally:
            connection.close()
        if not isinstance(content, dict):
            raise Later("another than the relay answers")
        if answer.status >= 400:
            self.stop(answer, content)
        return answer.status, answer.headers, content

    def stop(self, answer, problem):
        """Raises what a problem means: only the relay itself refuses for good."""
        kind = str(problem.get("type", ""))
        words = f"{answer.status} {problem.get('detail') or problem.get('title', '')}"
        passes = answer.status in PASSING or answer.status >= 500 or kind.endswith(":unknown-upload")
        if passes or not kind.startswith((RELAY, UPLOADS)):
            wait = answer.headers.get("Retry-After", "")
            raise Later(words, int(wait) if wait.isdigit() else None)
        raise Refused(words)

    def pieces(self, count):
        """So many bytes of the file, a piece at a time."""
        while count > 0 and (piece := self.file.read(min(PIECE_BYTES, count))):
            count -= len(piece)
            yield piece


def main(arguments):
    client = os.environ.get("WAYSTATION_CLIENT")
    if len(arguments) not in (2, 3) or not client:
        say(__doc__)
        return WRONG
    name, path, *kind = arguments
    fields = {
        "Waystation-Client": client,
        "Waystation-Lane": os.environ.get("WAYSTATION_LANE") or "default",
        "Content-Type": kind[0] if kind else "application/octet-stream",
    }
    if os.environ.get("WAYSTATION_TOKEN"):
        fields["Authorization"] = "Bearer " + os.environ["WAYSTATION_TOKEN"]
    server = os.environ.get("WAYSTATION_SERVER") or "http://127.0.0.1:8080"
    try:
        with open(name, "rb") as file:
            fields["Idempotency-Key"] = key_of(client, path, file)
            taken = Upload(server, file, fields, path).run()
    except Refused as refusal:
        say("refused", refusal)
        return REFUSED
    except OSError as error:
        say(error)
        return WRONG
    print("taken", taken.get("id", fields["Idempotency-Key"]), taken.get("result", ""))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
