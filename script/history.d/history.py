"""Three servers on one PostgreSQL, a dozen devices, faults of each, and a check of what they leave behind.

usage: history.py TERN DEVICE FOLDER SECONDS SEED
"""

import asyncio
import collections
import contextlib
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time

from processes import Database, Device, Haproxy, Pool, Server, Watcher, Way

# Whether the servers hear of each other, and don't only look.
LISTENS = os.environ.get("TERN_LISTEN", "yes") == "yes"
HEADS = "SELECT encode(author, 'hex'), sequence FROM tern.head"
DEVICES = 12
# How many milliseconds a device rests after each write.
PAUSE = 150
# So many seconds after the last fault all devices have the same.
BOUND = float(os.environ.get("TERN_BOUND", 90))


class History:
    def __init__(self, tern, device, folder, seconds, seed):
        self.tern, self.program, self.folder, self.seconds, self.seed = tern, device, folder, seconds, seed
        self.random = random.Random(seed)
        self.faults, self.violations = collections.Counter(), []
        # What event streams told since the last failover: position and check.
        self.told = []
        self.told_count = self.lost = 0
        # Whether what was acknowledged has to be there at the moment.
        self.is_kept, self.compared = True, 0
        # The servers' to the database, and the standby's.
        self.way, self.link = Way(), Way()

    def violate(self, text):
        print(f"VIOLATION: {text}", flush=True)
        self.violations.append(text)

    # The cast

    async def begin(self):
        self.primary, self.standby = Database(self.folder, "one"), Database(self.folder, "two")
        self.primary.make()
        self.primary.start()
        await self.primary.wait()
        await self.link.start()
        self.link.target = self.primary.port
        await self.standby.follow(self.link)
        self.standby.start()
        await self.standby.wait()
        self.primary.query("ALTER SYSTEM SET synchronous_standby_names = 'two'")
        self.primary.query("SELECT pg_reload_conf()")
        self.way.target = self.primary.port
        await self.way.start()
        self.pool = Pool(self.folder, self.way.port)
        self.pool.start()
        direct = f"postgresql://tern@127.0.0.1:{self.way.port}/postgres?sslmode=disable"
        pooled = f"postgresql://tern@127.0.0.1:{self.pool.port}/postgres?sslmode=disable"
        made = await asyncio.to_thread(
            subprocess.run, [self.tern, "token", "create", "--data", direct, "--space", "home"], check=True,
            capture_output=True, text=True)
        token = made.stdout.split()[-1]
        # One hears by itself, one beside a pool, and one only reads and has its statements kept.
        listening = ["--listen-url", direct] if LISTENS else []
        self.servers = [
            Server(self.folder, number, self.tern, data, more) for number, (data, more) in enumerate(
                [(direct, listening), (pooled, listening), (direct, ["--prepared-statements"])])]
        for server in self.servers:
            server.start()
        self.haproxy = Haproxy(self.folder, self.servers)
        self.haproxy.start()
        self.stop_file = f"{self.folder}/stop"
        url = f"http://127.0.0.1:{self.haproxy.port}"
        self.devices = [
            Device(self.folder, number, self.program, url, token, self.seed, PAUSE, self.stop_file)
            for number in range(DEVICES)]
        for device in self.devices:
            await device.start()
        self.watchers = [Watcher(f"http://127.0.0.1:{server.port}", token, self.note) for server in self.servers]
        self.tasks = [asyncio.create_task(watcher.run()) for watcher in self.watchers]
        self.tasks += [asyncio.create_task(self.supervise()), asyncio.create_task(self.compare())]

    async def compare(self):
        """What was acknowledged before one looks is there when one looks, or a device would bring it again unseen."""
        while True:
            await asyncio.sleep(0.3)
            stored, database = self.stored(), self.primary
            rows = await asyncio.to_thread(database.query, HEADS, False)
            # In between, another database may have taken its place.
            if rows is not None and self.is_kept and database is self.primary:
                self.compared += 1
                self.check_heads(stored, self.read_heads(rows), "while all goes on")

    async def supervise(self):
        """Starts again what ended by itself, as a server does that finds no database at its start."""
        while True:
            await asyncio.sleep(0.5)
            for server in self.servers:
                if not server.is_alive() and not server.is_down:
                    # 1 is for a database that is not there at the start.
                    if server.process.returncode != 1:
                        self.violate(f"INV-09: a server ended with {server.process.returncode}: see {server.log.name}")
                    self.faults["start without a database"] += 1
                    server.start()

    def note(self, position, check):
        if check:
            self.told.append((position, check))

    # Faults

    async def kill_server(self):
        server = self.random.choice(self.servers)
        server.is_down = True
        server.kill()
        await asyncio.sleep(self.random.uniform(0.2, 1))
        server.start()

    async def stop_server(self):
        server = self.random.choice(self.servers)
        server.signal(signal.SIGSTOP)
        await asyncio.sleep(self.random.choice([0.05, 0.3, 1, 7]))
        server.signal(signal.SIGCONT)

    async def kill_device(self):
        device = self.random.choice(self.devices)
        await device.kill()
        await device.start()

    async def cut(self):
        self.way.is_open = self.random.random() < 0.5
        self.way.cut()
        await asyncio.sleep(self.random.uniform(0.1, 2))
        self.way.is_open = True

    async def one_way(self):
        self.way.is_one_way = True
        await asyncio.sleep(self.random.uniform(0.5, 4))
        self.way.is_one_way = False
        self.way.cut()

    async def end_sessions(self):
        self.primary.query(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'tern%'", check=False)

    async def restart_pool(self):
        self.pool.stop()
        await asyncio.sleep(self.random.uniform(0, 1))
        self.pool.start()

    async def crash_database(self):
        stored = self.stored()
        self.primary.kill()
        self.primary.start()
        await self.primary.wait()
        self.check_stored(stored, self.primary, "after a crash of the database")

    async def standby_away(self):
        """COMMITs wait for it; some are cancelled, which answers them with a warning."""
        self.link.close()
        await asyncio.sleep(self.random.uniform(0.2, 1.5))
        self.cancel_commits()
        await asyncio.sleep(0.2)
        self.link.is_open = True

    def cancel_commits(self):
        self.primary.query(
            "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'", check=False)

    # Failovers

    async def failover(self, is_lossless):
        """The standby takes the primary's place, of which it lacks the last two seconds."""
        if not is_lossless:
            self.primary.query("ALTER SYSTEM RESET synchronous_standby_names")
            self.primary.query("SELECT pg_reload_conf()")
            self.is_kept = False
        self.link.close()
        before, until = sum(self.stored().values()), time.monotonic() + 20
        await asyncio.sleep(2)
        # It lacks something, or the failover would show nothing.
        while not is_lossless and sum(self.stored().values()) < before + 10 and time.monotonic() < until:
            await asyncio.sleep(0.1)
        if is_lossless:
            # One of a space waits at a time, and others for that.
            for _ in range(6):
                self.cancel_commits()
                await asyncio.sleep(0.3)
        self.way.close()
        # What servers and devices had been answered has arrived by now.
        await asyncio.sleep(0.5)
        stored, told = self.stored(), list(self.told)
        self.primary.kill()
        self.standby.query("SELECT pg_promote()")
        if is_lossless:
            self.check_stored(stored, self.standby, "after the failover to a synchronous standby")
            self.check_told(told, self.standby, "after the failover to a synchronous standby", may_lack=True)
        else:
            heads = self.heads(self.standby)
            self.lost += sum(max(0, last - heads.get(replica, 0)) for replica, last in stored.items())
            # They bring it again, and then it is acknowledged anew.
            for device in self.devices:
                device.stored.clear()
            if self.lost == 0:
                self.violate("the asynchronous standby lacked nothing, so that this shows nothing")
        self.told_count += len(self.told)
        self.told = []
        self.way.target, self.way.is_open = self.standby.port, True
        former = self.primary
        self.primary, self.standby = self.standby, Database(self.folder, former.name + "again")
        self.link.target, self.link.is_open = self.primary.port, True
        await self.standby.follow(self.link)
        self.standby.start()
        await self.standby.wait()
        self.is_kept = True
        if is_lossless:
            # From now on COMMITs wait for the next one.
            self.primary.query(f"ALTER SYSTEM SET synchronous_standby_names = '{self.standby.name}'")
            self.primary.query("SELECT pg_reload_conf()")

    # Checks

    def stored(self):
        stored = {}
        for device in self.devices:
            for replica, last in device.stored.items():
                stored[replica] = max(stored.get(replica, 0), last)
        return stored

    def heads(self, database):
        return self.read_heads(database.query(HEADS))

    @staticmethod
    def read_heads(rows):
        return {author: int(sequence) for author, sequence in (row.split("|") for row in rows.splitlines())}

    def check_stored(self, stored, database, when):
        self.check_heads(stored, self.heads(database), when)

    def check_heads(self, stored, heads, when):
        for replica, last in stored.items():
            if heads.get(replica, 0) < last:
                self.violate(f"INV-03: {when} operation {last} of {replica} is acknowledged and gone")

    def check_told(self, told, database, when, may_lack=False):
        """Whether each position that was told has the content that was told. A COMMIT that was cancelled while it waited
        for a standby is seen by readers, though nobody has it acknowledged: that may be gone after a failover."""
        rows = database.query(
            "SELECT position, substr(encode(chain, 'hex'), 1, 16) FROM tern.operation").splitlines()
        chains = dict(row.split("|") for row in rows)
        for position, check in told:
            found = chains.get(str(position))
            if found != check and not (may_lack and found is None):
                self.violate(f"INV-03: {when} position {position} was told with another content than it has")

    def check_log(self):
        count, last, position = self.primary.query(
            "SELECT count(*), max(o.position), min(s.position) FROM tern.operation o JOIN tern.space s ON s.id = o.space"
        ).split("|")
        if not count == last == position:
            self.violate(f"INV-03: {count} operations have positions up to {last}, and the head is at {position}")
        broken = self.primary.query(
            "SELECT count(*) FROM (SELECT chain, sha256(coalesce(lag(chain) OVER (ORDER BY position), '') || digest) AS"
            " right_one FROM tern.operation) AS chains WHERE chain <> right_one")
        torn = self.primary.query(
            "SELECT count(*) FROM tern.operation LEFT JOIN tern.operation_bytes USING (space, position)"
            " WHERE digest IS DISTINCT FROM sha256(bytes)")
        gaps = self.primary.query(
            "SELECT count(*) FROM (SELECT author FROM tern.operation GROUP BY author"
            " HAVING count(*) <> max(sequence) OR count(*) <> count(DISTINCT sequence)) AS authors")
        if (broken, torn, gaps) != ("0", "0", "0"):
            self.violate(f"INV-03: {broken} chains, {torn} contents and {gaps} authors' sequences are broken")
        return int(count)

    async def converge(self):
        """All devices have the same within the bound, and each server tells where that is."""
        open(self.stop_file, "w").close()
        began = time.monotonic()
        while time.monotonic() - began < BOUND:
            vectors = {device.vector for device in self.devices}
            if len(vectors) == 1 and None not in vectors:
                position = int(self.primary.query("SELECT position FROM tern.space"))
                if all(watcher.position == position for watcher in self.watchers):
                    return time.monotonic() - began
            await asyncio.sleep(0.1)
        told = [watcher.position for watcher in self.watchers]
        self.violate(f"INV-09: after {BOUND} s the devices have {len(vectors)} states, and the servers tell of {told}")
        return None

    def check_tables(self):
        tables = set()
        for device in self.devices:
            with contextlib.closing(sqlite3.connect(device.database)) as db:
                tables.add(tuple(
                    row for table in ("entry", "tally") for row in db.execute(f"SELECT * FROM {table} ORDER BY id")))
                done = db.execute("SELECT done FROM progress").fetchone()[0]
            if done < device.acknowledged:
                self.violate(f"INV-02: {device.name} acknowledged {device.acknowledged} writes and has {done}")
        if len(tables) != 1:
            self.violate(f"INV-01: the devices' tables differ in {len(tables)} ways")
        return len(next(iter(tables)))

    # The course

    async def disturb(self, until):
        faults = [self.kill_server, self.stop_server, self.kill_device, self.cut, self.one_way, self.end_sessions,
                  self.restart_pool, self.crash_database, self.standby_away]
        while time.monotonic() < until:
            fault = self.random.choice(faults)
            self.faults[fault.__name__] += 1
            await fault()
            await asyncio.sleep(self.random.uniform(0.2, 1.5))

    async def run(self):
        await self.begin()
        began = time.monotonic()
        await self.disturb(began + self.seconds * 0.4)
        await self.failover(is_lossless=True)
        await self.disturb(began + self.seconds * 0.7)
        await self.failover(is_lossless=False)
        await self.disturb(began + self.seconds)
        took = await self.converge()
        operations = self.check_log()
        self.told_count += len(self.told)
        self.check_told(list(self.told), self.primary, "at the end")
        self.check_stored(self.stored(), self.primary, "at the end")
        for watcher in self.watchers:
            if not watcher.count:
                self.violate(f"no event of {watcher.url} was read, so that this shows nothing")
        for device in self.devices:
            status = await device.end()
            if status != 0:
                self.violate(f"INV-09: {device.name} ended with {status}: see {device.log.name}")
        rows = self.check_tables()
        faults = ", ".join(f"{count} {name}" for name, count in sorted(self.faults.items()))
        print(f"faults: {faults}, and a failover to a synchronous and to an asynchronous standby")
        print(
            f"history: seed {self.seed}, {self.seconds:.0f} s, {operations} operations, {rows} rows on each of {DEVICES} "
            f"devices, {self.told_count} events, {self.compared} looks; {self.lost} acknowledged operations lost by the asynchronous standby and "
            f"brought again; equal after {'never' if took is None else f'{took:.1f} s'}; {len(self.violations)} violations")

    async def end(self):
        for task in getattr(self, "tasks", []):
            task.cancel()
        for device in getattr(self, "devices", []):
            if device.process and device.process.returncode is None:
                device.process.kill()
        for server in getattr(self, "servers", []):
            if server.is_alive():
                server.signal(signal.SIGCONT)
                server.kill()
        for part in ("haproxy", "pool", "primary", "standby"):
            if hasattr(self, part):
                getattr(self, part).stop()


async def main():
    history = History(*sys.argv[1:4], float(sys.argv[4]), int(sys.argv[5]))
    try:
        await history.run()
    finally:
        await history.end()
    # Threads that read event streams may wait still.
    sys.stdout.flush()
    os._exit(1 if history.violations else 0)


asyncio.run(main())
