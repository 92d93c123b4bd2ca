"""An upstream that tells the book what reaches it, and misbehaves when it is told to."""

import asyncio
import random
import socket

from .http import Broken, read_message

# What it may be in the mood for; `well` is the only one in which nothing goes wrong.
MOODS = ("well", "busy", "away", "stalled", "garbled", "cut", "slow", "mixed")


class Upstream:
    """Listens on one port, goes away and comes back on it."""

    def __init__(self, book, rng, make_socket=None):
        self.book = book
        self.rng = random.Random(rng.random())
        self.make_socket = make_socket or (lambda: socket.socket(socket.AF_INET))
        self.mood = "well"
        self.port = 0
        self.server = None
        self.writers = set()

    async def start(self, host="127.0.0.1"):
        """Begins to listen, on the same port as before."""
        self.host = host
        listener = self.make_socket()
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, self.port))
        self.port = listener.getsockname()[1]
        self.server = await asyncio.start_server(self._serve, sock=listener, backlog=512)

    async def stop(self):
        """Goes away: nothing listens, and every connection is cut."""
        if self.server is not None:
            self.server.close()
            self.server = None
        for writer in list(self.writers):
            writer.transport.abort()

    async def be(self, mood):
        """Changes its mood."""
        if (mood == "away") != (self.mood == "away"):
            await (self.stop() if mood == "away" else self.start(self.host))
        self.mood = mood

    async def _serve(self, reader, writer):
        self.writers.add(writer)
        try:
            while (message := await read_message(reader)) is not None:
                if not await self._answer(message, writer):
                    break
        except (OSError, Broken, asyncio.IncompleteReadError, asyncio.LimitOverrunError,
                asyncio.CancelledError):
            pass  # A relay that is killed in the middle is what this is about.
        finally:
            self.writers.discard(writer)
            writer.transport.abort()

    async def _answer(self, message, writer):
        """Returns whether the connection goes on."""
        line, fields, body = message
        mood = self.mood
        if mood == "mixed":
            mood = self.rng.choice(("well", "well", "busy", "cut", "slow", "garbled"))
        if mood == "slow":
            await asyncio.sleep(self.rng.uniform(0.01, 0.2))
        well = mood in ("well", "slow")
        self.book.arrive(line.split()[1], fields.get("idempotency-key", ""), body, well)
        if mood in ("cut", "away"):
            return False
        if mood == "stalled":
            while self.mood == "stalled":
                await asyncio.sleep(0.05)
            return False
        answer = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
        if mood == "busy":
            answer = (b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 0\r\n"
                      b"Content-Length: 0\r\n\r\n")
        elif mood == "garbled":
            answer = self.rng.randbytes(64)
        writer.write(answer)
        await writer.drain()
        return mood != "garbled"
