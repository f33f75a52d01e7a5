#!/usr/bin/env python3
"""A client of Tern's sync server for one table, in standard Python.

Written from Docs/WireFormat.md and the server's OpenAPI document. README.md beside this file says
how to use it, and what it leaves out.
"""

import argparse
import http.client
import json
import os
import secrets
import sqlite3
import sys
import time
import urllib.error
import urllib.parse
import urllib.request

from wire import (
    BATCH_OPERATIONS, DELETE, INSERT, UPDATE, FormatError, Operation, Reader, decode_batch,
    decode_key, decode_rows, decode_value, encode_batch, encode_key, encode_row, encode_value,
    varint,
)

BATCH_TYPE = "application/vnd.tern.batch"
# What one push has at most, unless one operation is longer.
PUSH_BYTES = 1 << 20
# What is refused so waits here, and is pushed with a later sync.
WAITING = ("unavailable", "space-full", "space-suspended", "space-moved", "read-only")


class Problem(Exception):
    """A refusal of the server, with its problem document, and seconds to wait or None."""

    def __init__(self, status, fields, retry_after=None):
        self.status, self.fields, self.retry_after = status, fields, retry_after
        self.code = fields.get("type", "").removeprefix("urn:tern:problem:")
        reason = fields.get("detail", "the server gave no reason")
        super().__init__(f"{reason} ({self.code or status})")


class NeedsHelp(Exception):
    """Something that syncing again does not mend."""


# MARK: - The replica


class Table:
    def __init__(self, name, key, columns):
        self.name, self.key, self.columns = name, list(key), list(columns)

    def own_names(self, deletes, key, columns):
        """For each column of a block its name here, or None. Refuses rules that are new here."""
        if deletes:
            raise FormatError(f"table {self.name} has rule {deletes} for deletes; only 0 is known")
        if [name.lower() for name in key] != [name.lower() for name in self.key]:
            raise FormatError(f"table {self.name} has the key {key} elsewhere, and {self.key} here")
        own = {name.lower(): name for name in self.columns}
        for name, rule in columns:
            if rule and name.lower() in own:
                raise FormatError(f"column {name} has rule {rule}; only 0 is known here")
        return [own.get(name.lower()) for name, _ in columns]


class Replica:
    """One table of one space, in a SQLite file of its own. Not for several processes at once."""

    def __init__(self, path, table, schema_version=1, now=lambda: time.time_ns() // 1_000_000):
        self.table, self.schema_version, self.now = table, schema_version, now
        self.db = sqlite3.connect(path, isolation_level=None)
        self.db.executescript(
            """PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
            CREATE TABLE IF NOT EXISTS state (name TEXT PRIMARY KEY, value);
            CREATE TABLE IF NOT EXISTS log (place INTEGER PRIMARY KEY, author BLOB,
              sequence INTEGER, bytes BLOB, UNIQUE (author, sequence));
            CREATE TABLE IF NOT EXISTS merged (author BLOB PRIMARY KEY, sequence INTEGER,
              told INTEGER);
            CREATE TABLE IF NOT EXISTS row (key BLOB PRIMARY KEY, generation INTEGER);
            CREATE TABLE IF NOT EXISTS cell (key BLOB, name TEXT, time INTEGER, author BLOB,
              value BLOB, PRIMARY KEY (key, name))"""
        )
        with self.transaction():
            if not self.get("replica"):
                self.set("replica", secrets.token_bytes(16))
            form = json.dumps([table.name, table.key, table.columns])
            if self.get("table") != form:  # A column that the log has, and the table had not.
                self.rebuild()
                self.set("table", form)
        self.id = self.get("replica")

    def transaction(self):
        self.db.execute("BEGIN IMMEDIATE")
        return self.db  # As a context manager it commits, or rolls back after an exception.

    def get(self, name, default=None):
        row = self.db.execute("SELECT value FROM state WHERE name = ?", (name,)).fetchone()
        return row[0] if row else default

    def set(self, name, value):
        self.db.execute("INSERT OR REPLACE INTO state VALUES (?, ?)", (name, value))

    def merged(self):
        return dict(self.db.execute("SELECT author, sequence FROM merged"))

    # MARK: What the app does

    def rows(self):
        """All rows, as dictionaries. A column that nobody has written is None."""
        rows = []
        alive = "SELECT key FROM row WHERE generation % 2 = 1 ORDER BY key"
        for (key,) in self.db.execute(alive).fetchall():
            row = dict(zip(self.table.key, decode_key(Reader(key), len(self.table.key))))
            cells = self.db.execute("SELECT name, value FROM cell WHERE key = ?", (key,))
            row |= dict.fromkeys(self.table.columns)
            rows.append(row | {name: decode_value(Reader(value)) for name, value in cells})
        return rows

    def put(self, row):
        """Inserts a row, or writes those of the given columns that differ. `sync` sends it."""
        strangers = row.keys() - {*self.table.key, *self.table.columns}
        if strangers or not row.keys() >= set(self.table.key):
            raise ValueError(f"a row has {self.table.key} for its key, and {self.table.columns}")
        key = b"".join(encode_key(row[name] for name in self.table.key))
        values = {name: encode_value(row[name]) for name in self.table.columns if name in row}
        with self.transaction():
            generation = self.generation(key)
            if generation % 2 == 0:
                self.write(INSERT, generation + 1, key, values)
                return
            cells = dict(self.db.execute("SELECT name, value FROM cell WHERE key = ?", (key,)))
            # What nobody has written is NULL here.
            values = {n: value for n, value in values.items() if cells.get(n, b"\0") != value}
            if values:
                self.write(UPDATE, generation, key, values)

    def delete(self, row):
        key = b"".join(encode_key(row[name] for name in self.table.key))
        with self.transaction():
            if (generation := self.generation(key)) % 2 == 1:
                self.write(DELETE, generation + 1, key, {})

    def generation(self, key):
        row = self.db.execute("SELECT generation FROM row WHERE key = ?", (key,)).fetchone()
        return row[0] if row else 0

    def write(self, kind, generation, key, values):
        """Makes the next operation, of one change, and merges it like any other."""
        clock = max(self.now() + self.get("offset", 0) << 16, self.get("clock", 0) + 1)
        news = self.db.execute(
            """SELECT author, sequence FROM merged WHERE sequence > told AND author != ?
            ORDER BY author LIMIT 10000""",
            (self.id,),
        ).fetchall()
        body = encode_row(self.table, kind, generation, key, values)
        tail = varint(self.schema_version) + varint(len(news))
        tail += b"".join(author + varint(sequence) for author, sequence in news)
        tail += b"\0" + varint(len(body)) + body
        sequence = self.merged().get(self.id, 0) + 1
        self.take(Operation.make(False, self.id, sequence, clock, tail))
        self.merge()
        self.db.executemany(
            "UPDATE merged SET told = ? WHERE author = ?", [(told, author) for author, told in news]
        )

    # MARK: Merging

    def take(self, operation):
        known = self.db.execute(
            "SELECT bytes FROM log WHERE author = ? AND sequence = ?",
            (operation.author, operation.sequence),
        ).fetchone()
        if known and known[0] != operation.data:
            name = f"operation {operation.sequence} of {operation.author.hex()}"
            raise NeedsHelp(f"there is another {name}: a file was copied; begin with a new one")
        if not known:
            self.db.execute(
                "INSERT INTO log (author, sequence, bytes) VALUES (?, ?, ?)",
                (operation.author, operation.sequence, operation.data),
            )

    def merge(self):
        """Merges what has come: the groups of each author that are whole, in their order."""
        merged = self.merged()
        for (author,) in self.db.execute("SELECT DISTINCT author FROM log").fetchall():
            group, last = [], merged.get(author, 0)
            for (data,) in self.db.execute(
                "SELECT bytes FROM log WHERE author = ? AND sequence > ? ORDER BY sequence",
                (author, last),
            ).fetchall():
                group.append(Operation(data))
                last += 1
                if group[-1].sequence != last:
                    break  # What is between has not come.
                if group[-1].continues:
                    continue
                for operation in group:
                    for change in decode_rows(self.table, operation.body):
                        self.apply(operation, *change)
                stamp, group = group[-1].time, []
                self.db.execute(
                    """INSERT INTO merged VALUES (?, ?, 0)
                    ON CONFLICT DO UPDATE SET sequence = excluded.sequence""",
                    (author, last),
                )
                self.set("clock", max(self.get("clock", 0), stamp))

    def apply(self, operation, kind, generation, key, values):
        known = self.generation(key)
        if generation < known:
            return
        if generation > known:  # It begins anew.
            self.db.execute("INSERT OR REPLACE INTO row VALUES (?, ?)", (key, generation))
            self.db.execute("DELETE FROM cell WHERE key = ?", (key,))
        for name, value in values.items():
            self.db.execute(
                """INSERT INTO cell VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE
                SET time = excluded.time, author = excluded.author, value = excluded.value
                WHERE (excluded.time, excluded.author) > (time, author)""",
                (key, name, operation.time, operation.author, value),
            )

    def rebuild(self):
        """Makes the rows again of the whole log."""
        self.db.execute("DELETE FROM row")
        self.db.execute("DELETE FROM cell")
        self.db.execute("UPDATE merged SET sequence = 0")
        self.set("clock", 0)
        self.merge()

    def stamp_again(self, accepted, server_now):
        """Gives what the server hasn't accepted of our own new times, by its clock."""
        with self.transaction():
            self.set("offset", server_now - self.now())
            rest = self.db.execute(
                """SELECT sequence, bytes FROM log WHERE author = ? AND sequence > ?
                ORDER BY sequence""",
                (self.id, accepted),
            ).fetchall()
            self.db.execute(
                "DELETE FROM log WHERE author = ? AND sequence > ?", (self.id, accepted)
            )
            self.rebuild()
            for sequence, data in rest:
                clock = max(server_now << 16, self.get("clock", 0) + 1)
                self.take(Operation.make(False, self.id, sequence, clock, Operation(data).tail))
                self.merge()

    # MARK: Syncing

    def sync(self, space):
        """Pulls and merges what others wrote, and pushes what the space lacks.

        Returns the problem for which the server takes nothing at the moment, or None. What was
        written waits here then, and a later call pushes it.
        """
        heads = self.greet(space)
        self.pull(space)
        return self.push(space, heads)

    def greet(self, space):
        greeting = space.greet(self.id)
        heads = {bytes.fromhex(name): last for name, last in greeting["heads"].items()}
        if greeting.get("claimed"):
            raise NeedsHelp("another member has this replica's id; begin with a new file")
        if heads.get(self.id, 0) > self.merged().get(self.id, 0):
            raise NeedsHelp("the space has more of this replica; begin with a new file")
        return heads

    def pull(self, space):
        has_more = True
        while has_more:
            cursor = self.get("cursor")
            try:
                operations, next_cursor, has_more = space.pull(cursor, self.id)
            except Problem as problem:
                if problem.code == "snapshot-needed":
                    raise NeedsHelp("the space trimmed what is needed; no snapshot is loaded here")
                if problem.code != "cursor-unknown" or cursor is None:
                    raise
                self.set("cursor", None)  # The server was wiped or restored: from the beginning.
                continue
            with self.transaction():
                for operation in operations:
                    self.take(operation)
                self.merge()
                self.set("cursor", next_cursor)

    def push(self, space, heads, attempts=8):
        # What no receipt acknowledged is pushed even if the space has it: a copy of this file may
        # have pushed under the same numbers, and the server compares.
        heads[self.id] = min(heads.get(self.id, 0), self.get("acknowledged", 0))
        left_out = set()
        while operations := self.lacking(heads, left_out):
            try:
                space.push(operations)
                heads |= {operation.author: operation.sequence for operation in operations}
                self.set("acknowledged", heads.get(self.id, 0))
            except Problem as problem:
                attempts -= 1
                if problem.code in WAITING:
                    return problem
                author = bytes.fromhex(problem.fields.get("replica", ""))
                is_own = author == self.id
                if attempts == 0:
                    raise
                if problem.code == "sequence-gap":
                    heads = self.greet(space)
                elif problem.code == "time-ahead" and is_own:
                    heads = self.greet(space)
                    self.stamp_again(heads.get(self.id, 0), problem.fields["now"])
                elif problem.code.startswith(("author-", "time-")) and not is_own:
                    left_out.add(author)  # Its own device brings the rest.
                else:
                    raise
        return None

    def lacking(self, heads, left_out):
        """What the space lacks of everybody's operations, as much as one push has."""
        operations, size = [], 0
        for author, sequence, length in self.db.execute(
            "SELECT author, sequence, length(bytes) FROM log ORDER BY place"
        ).fetchall():
            if sequence <= heads.get(author, 0) or author in left_out:
                continue
            size += length
            if operations and (size > PUSH_BYTES or len(operations) == BATCH_OPERATIONS):
                break
            data = self.db.execute(
                "SELECT bytes FROM log WHERE author = ? AND sequence = ?", (author, sequence)
            ).fetchone()
            operations.append(Operation(data[0]))
        return operations


class NoRedirects(urllib.request.HTTPRedirectHandler):
    """A redirect would take the token to whoever it names."""

    def redirect_request(self, *arguments):
        return None


class Space:
    """A space of a server, over HTTP."""

    opener = urllib.request.build_opener(NoRedirects)

    def __init__(self, url, name, token, sleep=time.sleep):
        self.base = f"{url.rstrip('/')}/v1/spaces/{urllib.parse.quote(name, safe='')}"
        self.token, self.sleep = token, sleep

    def greet(self, replica):
        return json.loads(self.call(f"?replica={replica.hex()}")[1])

    def push(self, operations):
        return json.loads(self.call("/operations", encode_batch(operations))[1])

    def pull(self, cursor, replica):
        after = "" if cursor is None else "&after=" + urllib.parse.quote(cursor, safe="")
        headers, body = self.call(f"/operations?excluding={replica.hex()}{after}")
        return decode_batch(body), headers["Tern-Cursor"], headers["Tern-More"] == "1"

    def call(self, path, batch=None, attempts=4):
        """Every call may be repeated, so one that got no answer is."""
        headers = {"Authorization": "Bearer " + self.token}
        if batch is not None:
            headers["Content-Type"] = BATCH_TYPE
        request = urllib.request.Request(self.base + path, data=batch, headers=headers)
        for attempt in range(attempts):
            try:
                with self.opener.open(request, timeout=60) as answer:
                    return answer.headers, answer.read()
            except urllib.error.HTTPError as error:
                problem = self.problem(error)
                wait = problem.retry_after
                if problem.code != "unavailable" or wait is None or attempt == attempts - 1:
                    raise problem from None
            except (OSError, http.client.HTTPException):
                wait = 1 << attempt
                if attempt == attempts - 1:
                    raise
            self.sleep(wait)

    @staticmethod
    def problem(error):
        """A proxy's answer need not be a problem document."""
        wait = error.headers.get("Retry-After", "")
        is_ours = error.headers.get_content_type() == "application/problem+json"
        fields = json.loads(error.read()) if is_ours else {"detail": error.reason}
        return Problem(error.code, fields, int(wait) if wait.isdecimal() else None)


# MARK: - The command


def main():
    parser = argparse.ArgumentParser(description="Reads and writes a table of a Tern space.")
    parser.add_argument("file", help="this replica's own SQLite file; made if it is missing")
    parser.add_argument("--table", required=True)
    parser.add_argument("--key", required=True, help="columns of the primary key, with commas")
    parser.add_argument("--columns", required=True, help="the other columns, with commas")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("rows", help="prints each row as JSON")
    commands.add_parser("put", help="writes a row").add_argument("row", type=json.loads)
    commands.add_parser("delete", help="deletes a row").add_argument("row", type=json.loads)
    syncing = commands.add_parser("sync", help="pulls and pushes; the token is in TERN_TOKEN")
    syncing.add_argument("url")
    syncing.add_argument("space")
    options = parser.parse_args()
    table = Table(options.table, options.key.split(","), options.columns.split(","))
    replica = Replica(options.file, table)
    match options.command:
        case "rows":
            for row in replica.rows():
                print(json.dumps(row, ensure_ascii=False, default=bytes.hex))
        case "put":
            replica.put(options.row)
        case "delete":
            replica.delete(options.row)
        case "sync":
            space = Space(options.url, options.space, os.environ["TERN_TOKEN"])
            if problem := replica.sync(space):
                sys.exit(f"tern.py: the server takes nothing at the moment: {problem}")


if __name__ == "__main__":
    try:
        main()
    except (FormatError, NeedsHelp, Problem, OSError, ValueError) as error:
        sys.exit(f"tern.py: {error}")
