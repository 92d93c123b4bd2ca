"""Network namespaces, and the links between them.

A link is a TUN device at each end and something in between that hands packets over: with a delay,
jitter, losses and a rate, and a switch. Where the kernel has sch_netem, `tc netem` on the devices does
the first four and what stands in between has only the switch; elsewhere it does all of it, packet by
packet, so that TCP on both sides meets the same losses and waits.
"""

import asyncio
import ctypes
import fcntl
import os
import random
import struct
import subprocess
import threading
from dataclasses import dataclass

CLONE_NEWNET = 0x40000000
TUNSETIFF = 0x400454CA
IFF_TUN, IFF_NO_PI = 0x0001, 0x1000
MTU = 1400
# A full queue drops what comes, as a modem's does; in seconds of waiting.
QUEUE_SECONDS_MAX = 2.0

LIBC = ctypes.CDLL(None, use_errno=True)


class Namespace:
    """A network of its own, for as long as this process or a child of it uses it."""

    def __init__(self):
        self.file = None
        thread = threading.Thread(target=self._make)
        thread.start()
        thread.join()
        if self.file is None:
            raise PermissionError("no network namespace could be made")
        self.command("ip", "link", "set", "lo", "up")

    def _make(self):
        if LIBC.unshare(CLONE_NEWNET) == 0:
            self.file = os.open(f"/proc/self/task/{threading.get_native_id()}/ns/net", os.O_RDONLY)

    def run(self, work):
        """Runs something on a thread in this namespace: sockets and children it makes belong here."""
        found = []

        def enter():
            if LIBC.setns(self.file, CLONE_NEWNET) != 0:
                found.append((None, OSError(ctypes.get_errno(), "setns")))
                return
            try:
                found.append((work(), None))
            except Exception as error:  # pylint: disable=broad-except
                found.append((None, error))

        thread = threading.Thread(target=enter)
        thread.start()
        thread.join()
        value, error = found[0]
        if error is not None:
            raise error
        return value

    def command(self, *words):
        """Runs a program here; whether it went well."""
        return self.run(lambda: subprocess.run(
            words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
        ).returncode == 0

    def close(self):
        """Lets go of it."""
        os.close(self.file)


@dataclass(frozen=True)
class Profile:
    """What a link does to a packet, one way; a round trip takes twice the delay."""

    delay: float = 0.0
    jitter: float = 0.0
    loss: float = 0.0
    kilobits: int = 0


class Link:
    """A link between two namespaces, at `10.0.NET.1` and `10.0.NET.2`."""

    def __init__(self, net, left, right, profile, seed):
        self.profile = profile
        self.rng = random.Random(f"link {net} {seed}")
        self.is_on = True
        self.lost = self.passed = 0
        name = f"link{net}"
        self.files = [self._open(namespace, name) for namespace in (left, right)]
        for end, namespace in enumerate((left, right)):
            here, there = f"10.0.{net}.{1 + end}", f"10.0.{net}.{2 - end}"
            for words in (("addr", "add", here, "peer", there, "dev", name),
                          ("link", "set", name, "mtu", str(MTU), "up")):
                if not namespace.command("ip", *words):
                    raise OSError(f"ip {' '.join(words)} failed")
        self.is_netem = all([self._netem(namespace, name) for namespace in (left, right)])
        self.free_at = [0.0, 0.0]
        self.last_at = [0.0, 0.0]

    @staticmethod
    def _open(namespace, name):
        def make():
            file = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
            fcntl.ioctl(file, TUNSETIFF, struct.pack("16sH22x", name.encode(), IFF_TUN | IFF_NO_PI))
            return file

        return namespace.run(make)

    def _netem(self, namespace, name):
        one = self.profile
        words = ["tc", "qdisc", "add", "dev", name, "root", "netem",
                 "delay", f"{one.delay * 1000:.0f}ms", f"{one.jitter * 1000:.0f}ms",
                 "loss", f"{one.loss * 100:g}%"]
        return namespace.command(*words, *(["rate", f"{one.kilobits}kbit"] if one.kilobits else []))

    def start(self):
        """Begins to hand packets over, on the event loop that runs."""
        for end in (0, 1):
            asyncio.get_running_loop().add_reader(self.files[end], self._read, end)

    def _read(self, end):
        loop = asyncio.get_running_loop()
        for _ in range(64):
            try:
                packet = os.read(self.files[end], 65536)
            except BlockingIOError:
                return
            at = self._departure(len(packet), end, loop.time())
            if at is None:
                self.lost += 1
            elif at <= loop.time():
                self._write(1 - end, packet)
            else:
                loop.call_at(at, self._write, 1 - end, packet)

    def _departure(self, size, end, now):
        """When a packet arrives at the other end; None if it does not."""
        if not self.is_on:
            return None
        if self.is_netem:
            return now
        one = self.profile
        if self.rng.random() < one.loss:
            return None
        sent = now
        if one.kilobits:
            sent = max(now, self.free_at[end]) + size * 8 / (one.kilobits * 1000)
            if sent - now > QUEUE_SECONDS_MAX:
                return None
            self.free_at[end] = sent
        # Jitter does not put a packet before the one ahead of it: a queue is a queue.
        arrives = sent + one.delay + self.rng.uniform(-one.jitter, one.jitter)
        self.last_at[end] = max(self.last_at[end], arrives)
        return self.last_at[end]

    def _write(self, end, packet):
        if not self.is_on or self.files[end] is None:
            self.lost += 1
            return
        self.passed += 1
        try:
            os.write(self.files[end], packet)
        except OSError:
            pass  # The other end is being taken down.

    def close(self):
        """Takes the link down."""
        for end, file in enumerate(self.files):
            asyncio.get_running_loop().remove_reader(file)
            os.close(file)
            self.files[end] = None


def obstacle():
    """Why links cannot be made here; None if they can."""
    try:
        left, right = Namespace(), Namespace()
    except OSError as error:
        return f"{error}; it takes root, or unshare --user --map-root-user"
    try:
        Link(0, left, right, Profile(), 0)
    except OSError as error:
        return f"/dev/net/tun or iproute2 is out of reach: {error}"
    finally:
        left.close()
        right.close()
    return None
