"""Just enough HTTP/1.1 over asyncio, for both ends: the relay's own must not check itself."""

import asyncio
import json


class Broken(Exception):
    """The other end went away, took too long, or said what is no HTTP."""


async def read_message(reader):
    """Reads a message; (first line, fields by lower-case name, body), or None at the end."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError as error:
        if error.partial:
            raise Broken("cut within a head") from error
        return None
    lines = head[:-4].decode("latin-1").split("\r\n")
    fields = {}
    for line in lines[1:]:
        name, _, value = line.partition(":")
        fields[name.lower()] = value.strip()
    body = b""
    if fields.get("transfer-encoding", "").lower() == "chunked":
        body = await _read_chunks(reader)
    elif "content-length" in fields:
        body = await reader.readexactly(int(fields["content-length"]))
    return lines[0], fields, body


async def _read_chunks(reader):
    body = b""
    while True:
        size = int((await reader.readuntil(b"\r\n")).split(b";")[0], 16)
        body += await reader.readexactly(size)
        await reader.readexactly(2)
        if size == 0:
            return body


class Connection:
    """A device's connection, made anew whenever the last one has gone."""

    def __init__(self, connect, timeout=15.0):
        self.connect = connect
        self.timeout = timeout
        self.streams = None

    async def request(self, method, path, body=b"", fields=()):
        """Asks; (status, fields, body).

        Raises Broken where no whole answer came: then nobody knows whether it was taken.
        """
        try:
            return await asyncio.wait_for(
                self._exchange(method, path, body, fields), self.timeout)
        except (OSError, asyncio.IncompleteReadError, asyncio.TimeoutError, ValueError) as error:
            self.cut()
            raise Broken(str(error) or type(error).__name__) from error
        except (Broken, asyncio.CancelledError):
            self.cut()
            raise

    async def _exchange(self, method, path, body, fields):
        if self.streams is None:
            self.streams = await self.connect()
        reader, writer = self.streams
        head = f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {len(body)}\r\n"
        head += "".join(f"{name}: {value}\r\n" for name, value in fields)
        writer.write(head.encode("latin-1") + b"\r\n" + body)
        await writer.drain()
        message = await read_message(reader)
        if message is None:
            raise Broken("closed")
        line, answer, content = message
        if answer.get("connection", "").lower() == "close":
            self.cut()
        return int(line.split()[1]), answer, content

    async def json(self, method, path, value=None, fields=()):
        """Asks with JSON, and takes JSON; (status, value, fields)."""
        body = b"" if value is None else json.dumps(value).encode()
        own = [("Content-Type", "application/json")] if body else []
        status, answer, content = await self.request(method, path, body, own + list(fields))
        try:
            return status, json.loads(content) if content else None, answer
        except ValueError as error:
            raise Broken("no JSON") from error

    def cut(self):
        """Ends the connection, as a device that loses its network does."""
        if self.streams is not None:
            self.streams[1].transport.abort()
            self.streams = None
