"""What the flows of `scan serve` share: a library with its programs, and words for what a person does."""

import contextlib
import os
import pathlib
import signal
import socket
import sqlite3
import struct
import subprocess
import urllib.request
import zlib

import browser as pages
from browser import Browser, Process, check

ROOT = pathlib.Path(__file__).resolve().parents[2]

SHELVES = [ROOT / f"Examples/Scan/Photos/shelf-{name}.jpg" for name in "abc"]

# A machine that is busy otherwise has four times as long as an idle one for what has to be fast.
SLACK = 1 if os.environ.get("TERN_IDLE") == "1" else 4

# For what has to come at all. A machine that is busy otherwise may take long.
PATIENCE = 60

# What a CSV or a service may hold, and no page may obey.
HOSTILE = "<img src=x onerror=\"document.title='stolen'\">"


def chunk(kind, content):
    body = kind + content
    return struct.pack(">I", len(content)) + body + struct.pack(">I", zlib.crc32(body))


def png(width, height, rows=b""):
    """A grey picture, or only what says that it is one."""
    header = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0))
    end = chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"") if rows else b""
    return b"\x89PNG\r\n\x1a\n" + header + end


def lying(path):
    """A JPEG of 120 × 40 pixels, of which its EXIF data say that it is to be turned upright."""
    subprocess.run(["gm", "convert", "-size", "120x40", "xc:gray", f"jpeg:{path}"], check=True, timeout=30)
    turn = struct.pack("<HHIHH", 0x0112, 3, 1, 6, 0)
    exif = b"Exif\0\0" + struct.pack("<2sHIH", b"II", 42, 8, 1) + turn + struct.pack("<I", 0)
    plain = path.read_bytes()
    path.write_bytes(plain[:2] + struct.pack(">HH", 0xFFE1, len(exif) + 2) + exif + plain[2:])
    return path


def blank(shade):
    return png(80, 120, (b"\0" + bytes([shade]) * 80) * 120)


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


class Rig:
    """A folder with a library, the scan service beside it, and the page."""

    def __init__(self, scan, recognizer, tern, folder):
        self.scan, self.recognizer, self.tern = scan, recognizer, tern
        self.folder = pathlib.Path(folder)
        self.file, self.started = self.folder / "scan.sqlite", []
        # What is on the way through here is this rig's alone.
        self.way = self.folder / "way"
        self.way.mkdir(exist_ok=True)
        self.port, self.page_port = free_port(), free_port()
        self.begin_service()

    def begin_service(self):
        self.service = self.start(self.recognizer, "--catalogue", ROOT / "Examples/Library/catalogue.csv",
                                  "--port", str(self.port))
        self.service.line()

    def start(self, *command):
        process = Process("env", f"TMPDIR={self.way}", *command, folder=self.folder)
        self.started.append(process)
        return process

    def begin_page(self, *options, port=None, before=()):
        return self.start(*before, self.scan, "serve", "--no-open", "--port", str(port or self.page_port),
                          "--service", f"http://127.0.0.1:{self.port}", *options)

    def serve(self, *options, **place):
        page = self.begin_page(*options, **place)
        said = page.line()
        while not said.startswith("the page is at http://127.0.0.1:"):
            said = page.line()
        page.address = said.removeprefix("the page is at ")
        return page

    def misbehave(self, text):
        urllib.request.urlopen(f"http://127.0.0.1:{self.port}/control/misbehave", text.encode(), timeout=10).close()

    def change(self, server, path, body):
        address, token = server.address.split("/#")
        head = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        request = urllib.request.Request(f"{address}/api/{path}", body.encode(), head)
        urllib.request.urlopen(request, timeout=10).close()

    def query(self, sql, *arguments):
        with contextlib.closing(sqlite3.connect(self.file, timeout=10)) as database, database:
            return database.execute(sql, arguments).fetchall()

    def book(self, isbn, title, author="Ann Author", confidence=0.9, added=1):
        self.query("""INSERT INTO book (isbn, title, author, confidence, timesScanned, addedMilliseconds)
            VALUES (?, ?, ?, ?, 1, ?)""", isbn, title, author, confidence, added)

    def end(self):
        for process in self.started:
            process.end(signal.SIGKILL)


def eventually(look, message, seconds=PATIENCE):
    return pages.eventually(look, message, seconds)


class Chromium(Browser):
    @contextlib.contextmanager
    def page(self, *arguments):
        with super().page(*arguments) as page:
            page.set_default_timeout(PATIENCE * 1000)
            yield page


def opened(page):
    page.get_by_label("Choose photos").wait_for(state="attached")


def view(page, name):
    page.get_by_role("navigation").get_by_role("link", name=name).click()
    page.locator("[aria-current=page]").filter(has_text=name).wait_for()


def choose(page, *files):
    """A file is a path, or a name with bytes."""
    parts = [file if isinstance(file, pathlib.Path) else
             {"name": file[0], "mimeType": "image/png", "buffer": file[1]} for file in files]
    page.get_by_label("Choose photos").set_input_files(parts)


def photo(page, name, standing=None):
    button = page.get_by_role("button", name=f"{name}: {standing or ''}")
    button.first.wait_for()
    return button.first


def gone(page, name):
    eventually(lambda: page.get_by_role("button", name=f"{name}: ").count() == 0, f"{name} stays")


def problems(page):
    """What the console says, but for answers that are refusals."""
    return [said for said in page.said if "Failed to load resource" not in said]


def within(what, found, most):
    """What this machine does otherwise holds up some of what is measured. What the page does holds up all."""
    print(f"  {what}: {found}, at most {most}" + (f" on an idle machine, and {most * SLACK} here" if SLACK > 1 else ""))
    check(found <= most * SLACK, f"{what}: {found}")


class Touch:
    """Fingers on the page."""

    def __init__(self, page):
        self.session = page.context.new_cdp_session(page)

    def send(self, kind, *places):
        points = [{"x": x, "y": y, "id": number} for number, (x, y) in enumerate(places)]
        self.session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
