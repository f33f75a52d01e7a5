"""What event streams cost a server: memory of those that are idle, and how soon a push is told and pulled.

usage: streams.py TERN FOLDER STREAMS. Prints a line for each figure: its name and the number. A process may need to have
more files open than there are streams; what it needs is told of where it has fewer.
"""

import asyncio
import contextlib
import os
import ssl
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "Examples/Python"))
from tern import Space, Table  # noqa: E402
from wire import (  # noqa: E402
    INSERT, Operation, encode_key, encode_row, encode_value, varint,
)

tern, folder, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
data = os.path.join(folder, "server.tern")
TABLE = Table("book", ["isbn"], ["title"])


def token(space):
    command = [tern, "token", "create", "--data", data, "--space", space]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


class Author:
    """Pushes one row at a time."""

    def __init__(self, url, name, secret):
        self.space, self.id, self.sequence = Space(url, name, secret), os.urandom(16), 0

    def push(self):
        self.sequence += 1
        key = encode_key([str(self.sequence)])[0]
        body = encode_row(TABLE, INSERT, 1, key, {"title": encode_value("a title")})
        tail = varint(1) + varint(0) + b"\0" + varint(len(body)) + body
        moment = time.time_ns() // 1_000_000 << 16
        self.space.push([Operation.make(False, self.id, self.sequence, moment, tail)])


def resident(process):
    """KiB."""
    with open(f"/proc/{process}/status", encoding="utf8") as status:
        return int(next(line for line in status if line.startswith("VmRSS")).split()[1])


class Listener:
    """An event stream, and beside it a connection for pulls."""

    def __init__(self, port, space, secret, tls=None):
        self.port, self.space, self.secret, self.tls = port, space, secret, tls
        self.replica = os.urandom(16).hex()
        self.position = 0
        self.news = asyncio.Event()

    def head(self, path):
        return (
            f"GET /v1/spaces/{self.space}/{path} HTTP/1.1\r\nHost: localhost\r\n"
            f"Authorization: Bearer {self.secret}\r\n\r\n"
        ).encode()

    async def listen(self):
        self.reader, self.writer = await asyncio.open_connection("127.0.0.1", self.port, ssl=self.tls)
        self.writer.write(self.head("events"))
        await self.until_position()
        self.task = asyncio.create_task(self.follow())

    async def until_position(self):
        said = b""
        while True:
            line = await self.reader.readline()
            said += line
            if not line:
                sys.exit(f"an event stream of {self.space} ended: {said!r}")
            if line.startswith(b'data: '):
                self.position = int(line.rsplit(b'"position":', 1)[1].rstrip(b"}\n").split(b",")[0])
                return

    async def follow(self):
        while True:
            await self.until_position()
            self.news.set()

    async def connect_for_pulls(self):
        self.pulls = await asyncio.open_connection("127.0.0.1", self.port)

    async def pull(self):
        reader, writer = self.pulls
        while True:
            writer.write(self.head(f"operations?excluding={self.replica}"))
            head = await reader.readuntil(b"\r\n\r\n")
            fields = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:-2])
            await reader.readexactly(int(fields[b"content-length"]))
            if b" 200 " in head.split(b"\r\n")[0]:
                return
            if b"retry-after" not in fields:
                sys.exit(f"a pull was answered {head!r}")
            # As a device does.
            await asyncio.sleep(int(fields[b"retry-after"]))

    async def hear(self, pulls):
        await self.news.wait()
        self.news.clear()
        if pulls:
            await self.pull()


async def open_all(listeners):
    for start in range(0, len(listeners), 50):
        await asyncio.gather(*(one.listen() for one in listeners[start:start + 50]))


async def tell(author, listeners, pulls, rounds):
    """The median of so many pushes: seconds until all have heard, and pulled where they do."""
    times = []
    for _ in range(rounds):
        # What follows within 10 ms waits for so long.
        await asyncio.sleep(0.05)
        push = asyncio.to_thread(author.push)
        began = time.perf_counter()
        await asyncio.gather(push, *(one.hear(pulls) for one in listeners))
        times.append(time.perf_counter() - began)
    return sorted(times)[rounds // 2]


@contextlib.contextmanager
def serving(*options):
    """A server's process, and the port at which it listens."""
    server = subprocess.Popen(
        [tern, "serve", "--data", data, "--port", "0", "--connections", str(count * 3 // 2 + 4000),
         "--connections-per-address", str(count + 5000),
         "--processor-per-token", "6000", *options],
        stdout=subprocess.PIPE, text=True)
    try:
        yield server, int(server.stdout.readline().rsplit(":", 1)[1])
    finally:
        server.terminate()
        server.wait()


async def kib_of_each(server, listeners):
    """Of memory, once signs of life went to all."""
    before = resident(server.pid)
    await open_all(listeners)
    await asyncio.sleep(20)
    return (resident(server.pid) - before) / len(listeners)


async def measure_with_tls(secret):
    """Of fewer streams: a handshake takes a while."""
    certificate, key = os.path.join(folder, "certificate.pem"), os.path.join(folder, "key.pem")
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
         "-subj", "/CN=localhost", "-out", certificate, "-keyout", key], check=True, capture_output=True)
    tls = ssl.create_default_context(cafile=certificate)
    tls.check_hostname = False
    with serving("--tls-certificate", certificate, "--tls-key", key) as (server, port):
        first = [Listener(port, "few", secret, tls) for _ in range(10)]
        await open_all(first)
        listeners = [Listener(port, "few", secret, tls) for _ in range(min(count, 900))]
        print("tls-kib", await kib_of_each(server, listeners), flush=True)
        for one in first + listeners:
            one.task.cancel()


async def main():
    secrets = {name: token(name) for name in ["few", "many"] + [f"other{n}" for n in range(20)]}
    await measure_with_tls(secrets["few"])
    with serving() as (server, port):
        url = f"http://127.0.0.1:{port}"
        space = {name: Author(url, name, secrets[name]) for name in ("few", "many")}
        few = [Listener(port, "few", secrets["few"]) for _ in range(10)]
        await open_all(few)
        await tell(space["few"], few, False, 5)
        print("wake-alone", await tell(space["few"], few, False, 21), flush=True)
        others = [Listener(port, f"other{n % 20}", secrets[f"other{n % 20}"]) for n in range(count)]
        print("stream-kib", await kib_of_each(server, others), flush=True)
        print("wake-beside", await tell(space["few"], few, False, 21), flush=True)
        # As many tokens as a space of that size has: what one may ask for at once is limited.
        tokens = [token("many") for _ in range(50)]
        many = [Listener(port, "many", tokens[n % 50]) for n in range(1000)]
        await open_all(many)
        await asyncio.gather(*(one.connect_for_pulls() for one in many))
        print("many-heard", await tell(space["many"], many, False, 5), flush=True)
        print("many-pulled", await tell(space["many"], many, True, 5), flush=True)
    os._exit(0)


asyncio.run(main())
