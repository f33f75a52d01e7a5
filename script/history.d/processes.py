"""What a history is made of: PostgreSQL with a standby, PgBouncer, servers, haproxy, devices, and ways between them."""

import asyncio
import contextlib
import glob
import json
import os
import shutil
import signal
import socket
import subprocess
import time
import urllib.request


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def as_postgres():
    """PostgreSQL and PgBouncer run as no root."""
    if os.getuid() != 0:
        return []
    return ["setpriv", "--reuid", "postgres", "--regid", "postgres", "--clear-groups"]


class Way:
    """A proxy to a database, which can be cut or carry one direction alone."""

    def __init__(self):
        self.port = free_port()
        self.target = None
        self.is_open = True
        self.is_one_way = False
        self.writers = set()

    async def start(self):
        self.server = await asyncio.start_server(self.carry, "127.0.0.1", self.port)

    def close(self):
        self.is_open = False
        self.cut()

    def cut(self):
        for writer in list(self.writers):
            writer.transport.abort()

    async def carry(self, reader, writer):
        if not self.is_open or self.target is None:
            writer.transport.abort()
            return
        try:
            there = await asyncio.open_connection("127.0.0.1", self.target)
        except OSError:
            writer.transport.abort()
            return
        self.writers |= {writer, there[1]}
        await asyncio.gather(self.pump(reader, there[1], False), self.pump(there[0], writer, True))
        self.writers -= {writer, there[1]}

    async def pump(self, reader, writer, is_answer):
        with contextlib.suppress(OSError, asyncio.CancelledError):
            while data := await reader.read(65536):
                # What is sent one way is lost, as where a router forgot the connection.
                if not (is_answer and self.is_one_way):
                    writer.write(data)
                    await writer.drain()
        writer.transport.abort()


class Database:
    """One PostgreSQL server."""

    programs = os.path.dirname(sorted(glob.glob("/usr/lib/postgresql/*/bin/initdb"))[-1])

    def __init__(self, folder, name):
        self.folder, self.name, self.port = f"{folder}/{name}", name, free_port()
        self.log = open(f"{folder}/{name}.log", "ab")
        self.process = None

    def run(self, program, *arguments):
        subprocess.run(
            [*as_postgres(), f"{self.programs}/{program}", *arguments], check=True, stdout=self.log, stderr=self.log)

    def make(self):
        self.run("initdb", "--pgdata", self.folder, "--auth", "trust", "--username", "tern", "--no-sync",
                 "--locale", "C", "--encoding", "UTF8")

    async def follow(self, link):
        """Becomes a standby of the server to which a way leads."""
        await asyncio.to_thread(
            self.run, "pg_basebackup", "--pgdata", self.folder, "--write-recovery-conf", "--checkpoint", "fast",
            "--no-sync", "--dbname", f"{self.address_at(link.port)} application_name={self.name}")

    def start(self):
        self.process = subprocess.Popen(
            [*as_postgres(), f"{self.programs}/postgres", "-D", self.folder, "-p", str(self.port), "-k", "",
             "-c", "listen_addresses=127.0.0.1", "-c", "max_connections=150", "-c", "shared_buffers=32MB"],
            stdout=self.log, stderr=self.log)

    @staticmethod
    def address_at(port):
        return f"host=127.0.0.1 port={port} user=tern dbname=postgres sslmode=disable connect_timeout=2"

    async def wait(self):
        for _ in range(300):
            if self.query("SELECT 1", check=False) == "1":
                return
            await asyncio.sleep(0.1)
        raise SystemExit(f"{self.name} does not answer: see {self.log.name}")

    def query(self, sql, check=True):
        result = subprocess.run(
            [f"{self.programs}/psql", "-XAtq", self.address_at(self.port), "-c", sql], capture_output=True, text=True)
        if check and result.returncode != 0:
            raise SystemExit(f"{self.name}: {result.stderr}")
        return result.stdout.strip() if result.returncode == 0 else None

    def kill(self):
        """All of its processes die at one moment, as in a crash of the machine that keeps the disk."""
        # It makes no more of them, and doesn't see them die.
        self.process.send_signal(signal.SIGSTOP)
        children = self.children()
        for number in [*children, self.process.pid]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(number, signal.SIGKILL)
        self.process.wait()
        # They have memory in common that the next start wants for itself.
        while any(os.path.exists(f"/proc/{number}") for number in children):
            time.sleep(0.01)
        with contextlib.suppress(FileNotFoundError):
            os.remove(f"{self.folder}/postmaster.pid")

    def children(self):
        found = []
        for path in glob.glob("/proc/[0-9]*"):
            with contextlib.suppress(OSError):
                with open(f"{path}/stat") as file:
                    if int(file.read().rpartition(")")[2].split()[1]) == self.process.pid:
                        found.append(int(path.split("/")[2]))
        return found

    def stop(self):
        if self.process and self.process.poll() is None:
            self.kill()


class Pool:
    """PgBouncer, which gives each transaction another connection."""

    def __init__(self, folder, target):
        self.port, self.settings = free_port(), f"{folder}/pgbouncer.ini"
        with open(self.settings, "w") as file:
            file.write(
                f"[databases]\n* = host=127.0.0.1 port={target} user=tern\n[pgbouncer]\nlisten_addr = 127.0.0.1\n"
                f"listen_port = {self.port}\nauth_type = any\npool_mode = transaction\nunix_socket_dir =\n"
                "server_login_retry = 1\nmax_client_conn = 200\n")
        os.chmod(self.settings, 0o644)
        self.log = open(f"{folder}/pgbouncer.log", "ab")
        self.program = shutil.which("pgbouncer", path=os.environ["PATH"] + ":/usr/sbin")

    def start(self):
        self.process = subprocess.Popen(
            [*as_postgres(), self.program, "--quiet", self.settings], stdout=self.log, stderr=self.log)

    def stop(self):
        self.process.kill()
        self.process.wait()


class Server:
    """One process of `tern serve`."""

    def __init__(self, folder, number, program, data, more):
        self.program, self.port = program, free_port()
        self.arguments = ["serve", "--data", data, "--port", str(self.port), *more]
        self.log = open(f"{folder}/server-{number}.log", "ab")
        self.process = None

    def start(self):
        self.process = subprocess.Popen([self.program, *self.arguments], stdout=self.log, stderr=self.log)
        self.is_down = False

    def is_alive(self):
        return self.process is not None and self.process.poll() is None

    def kill(self):
        self.process.kill()
        self.process.wait()

    def signal(self, number):
        self.process.send_signal(number)


class Haproxy:
    """Gives each connection of a device to one of the servers that answer."""

    def __init__(self, folder, servers):
        self.port = free_port()
        self.settings = f"{folder}/haproxy.cfg"
        lines = "\n".join(
            f"  server s{number} 127.0.0.1:{server.port} check inter 500" for number, server in enumerate(servers))
        with open(self.settings, "w") as file:
            file.write(
                "defaults\n  mode http\n  timeout connect 2s\n  timeout client 60s\n  timeout server 60s\n"
                f"  option redispatch\nlisten tern\n  bind 127.0.0.1:{self.port}\n  balance roundrobin\n"
                f"  option httpchk GET /health\n{lines}\n")
        self.log = open(f"{folder}/haproxy.log", "ab")

    def start(self):
        program = shutil.which("haproxy", path=os.environ["PATH"] + ":/usr/sbin")
        self.process = subprocess.Popen([program, "-db", "-f", self.settings], stdout=self.log, stderr=self.log)

    def stop(self):
        self.process.kill()
        self.process.wait()


class Device:
    """A process with a replica of its own: it writes, syncs, and says what it reached."""

    def __init__(self, folder, number, program, url, token, seed, pause, stop_file):
        self.name, self.program = f"d{number}", program
        self.database = f"{folder}/device-{number}.sqlite"
        self.arguments = [self.name, self.database, url, token, str(seed + number), stop_file,
                          "processCrash", "false", "1",
                          str(pause)]
        self.log = open(f"{folder}/device-{number}.log", "ab")
        # What the server acknowledged, by replica, and the last vector.
        self.stored, self.vector, self.acknowledged = {}, None, 0
        self.process = None

    async def start(self):
        self.process = await asyncio.create_subprocess_exec(
            self.program, *self.arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log)
        self.reading = asyncio.create_task(self.read())

    async def read(self):
        while line := await self.process.stdout.readline():
            word, _, rest = line.decode().strip().partition(" ")
            if word == "stored":
                replica, sequence = rest.split(":")
                self.stored[replica] = max(self.stored.get(replica, 0), int(sequence))
            elif word == "reached":
                self.vector = rest
            elif word == "acknowledged":
                self.acknowledged = int(rest)

    async def kill(self):
        self.vector = None
        if self.process.returncode is None:
            self.process.kill()
        await self.process.wait()
        await self.reading

    async def end(self):
        self.process.stdin.close()
        try:
            return await asyncio.wait_for(self.process.wait(), 30)
        except asyncio.TimeoutError:
            return "nothing, for 30 s"


class Watcher:
    """Reads the event stream of one server, and notes each position with its check."""

    def __init__(self, url, token, note):
        self.url, self.token, self.note = url, token, note
        self.count = self.position = 0

    async def run(self):
        while True:
            with contextlib.suppress(OSError, ValueError):
                await asyncio.to_thread(self.read)
            await asyncio.sleep(0.5)

    def read(self):
        request = urllib.request.Request(
            f"{self.url}/v1/spaces/home/events", headers={"Authorization": f"Bearer {self.token}"})
        with urllib.request.urlopen(request, timeout=20) as answer:
            for line in answer:
                if line.startswith(b"data: "):
                    event = json.loads(line[6:])
                    self.count += 1
                    self.position = event["position"]
                    self.note(self.position, event.get("check"))
