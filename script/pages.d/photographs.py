"""Many photographs given to the page of `scan serve`, while the network and the program fail."""

import contextlib
import hashlib
import json
import random
import re
import signal
import subprocess
import time
import urllib.request

import memory
import scan_rig
from browser import check
from checks import PATIENCE, console, difference, fail_with, finds, reached
from cuts import Network, lost_answer

# How often memory is looked at, which looks at the page are not compared, and before which the
# program dies. After the last death it lives on, so that its memory can be compared.
LOOKS, WARM_UP, DEATHS = 10, 1, (1, 2, 3)

PHOTO = re.compile(r"photo-\d+\.jpg")

# A person waits, with so many on their way.
AHEAD = 8


class Rig(scan_rig.Rig):
    """Whose service takes more in a day than a device may send, and is behind a network."""

    def begin_service(self):
        self.service = self.start(
            self.recognizer, "--catalogue", scan_rig.ROOT / "Examples/Library/catalogue.csv",
            "--port", str(self.port), "--daily-quota", "10000")
        self.service.line()
        self.counts_address = f"http://127.0.0.1:{self.port}/control/counts"

    def counts(self):
        with urllib.request.urlopen(self.counts_address, timeout=10) as answer:
            return json.load(answer)


def name(request):
    """Of the photo in a form that is whole."""
    if not request.startswith(b"POST /v3/jobs/scans ") or not request.endswith(b"--\r\n"):
        return None
    photo = request.split(b"\r\n\r\n", 2)[2].rsplit(b"\r\n--", 1)[0]
    return hashlib.sha256(photo).hexdigest()


class Photographer:
    """Who uses the page, and remembers what was given to it."""

    def __init__(self, rig, draw):
        self.rig, self.draw, self.given = rig, draw, []
        self.network = Network(rig.port, name, random.Random(draw.random()))
        # Between the program and its service from now on.
        rig.port = self.network.port
        self.server = rig.serve()
        self.deaths, self.unheard = 0, 0
        # Requests that never came to the service, once no more can be lost.
        self.missed = 0

    def open(self, page):
        self.page, self.memory = page, memory.Memory(page)
        page.set_default_timeout(PATIENCE)
        scan_rig.opened(page)

    def take(self):
        """A photo of a drawn shelf, each from a place of its own."""
        number = len(self.given)
        photo = self.rig.folder / f"photo-{number + 1}.jpg"
        place = f"{number // 3 % 10}x{number // 30}"
        subprocess.run(["gm", "convert", scan_rig.SHELVES[number % 3], "-chop", place,
                        "-resize", "70%", photo], check=True)
        self.given.append(photo.name)
        return photo

    def go_on(self, number, count):
        fate = self.kill if number in DEATHS else self.lose_answer
        while count:
            some = [self.take() for _ in range(self.draw.randint(1, min(count, 3)))]
            self.wait(AHEAD)
            with fate() if fate else contextlib.nullcontext():
                scan_rig.choose(self.page, *some)
            count, fate = count - len(some), None
        self.wait(0)
        self.memory.look(self.server.child.pid)

    def wait(self, most):
        """Until no more are on their way."""
        photos = self.page.locator("#photos .photo:not(.done)")
        end = time.monotonic() + 300
        while photos.count() > most:
            failed = self.page.locator("#photos .photo.failed")
            check(not failed.count(), f"of the photos these fail: {failed.all_inner_texts()}")
            check(time.monotonic() < end, f"photos stay on their way: {photos.all_inner_texts()}")
            time.sleep(0.1)  # real time: as often as somebody looks

    @contextlib.contextmanager
    def kill(self):
        """While photos are on their way to the program; the page stays open."""
        yield
        time.sleep(self.draw.uniform(0, 0.3))  # real time: a moment of its own
        with self.network.death():
            self.server.end(signal.SIGKILL)
        self.deaths += 1
        time.sleep(self.draw.uniform(0.3, 2))  # real time: until somebody starts it
        self.server = self.rig.serve()

    @contextlib.contextmanager
    def lose_answer(self):
        """The program has the photo, and the page never hears of it."""
        with lost_answer(self.page, "*/api/photos*"):
            yield
        self.unheard += 1

    def facts(self):
        jobs = "LEFT JOIN grdb_tern_jobs AS job ON job.id = scan.id"
        return {
            "scans": self.rig.query(f"""SELECT name, coalesce(state, 'done'), timesLost,
                (SELECT count(*) FROM find WHERE scan = scan.id) FROM scan {jobs}"""),
            "finds": self.rig.query("SELECT count(*) FROM find")[0][0],
            "seen": self.rig.query("SELECT sum(timesScanned) FROM book")[0][0],
            # Of those that are done the queue keeps some.
            "left": self.rig.query(
                "SELECT count(*) FROM grdb_tern_jobs WHERE state <> 'done'")[0][0],
            "files": [path.name for path in self.rig.folder.glob("scan.sqlite-files/**/*")
                      if path.is_file() and not path.name.endswith("lock")],
            "service": self.rig.counts(),
        }

    def problems(self, facts):
        """What is lost, twice, or not done."""
        photos, scans, service = len(self.given), facts["scans"], facts["service"]
        names = sorted(scan[0] for scan in scans)
        found = [f"{one[0]} is {one[1]}, with {one[3]} books" for one in scans
                 if one[1] != "done" or not one[3]]
        if names != sorted(self.given):
            found.append(f"the database has {difference(zip(names), zip(sorted(self.given)))}")
        if facts["finds"] != facts["seen"]:
            found.append(f"{facts['finds']} finds are counted as {facts['seen']}")
        if facts["left"]:
            found.append(f"{facts['left']} jobs have not ended well")
        if service["jobsCleaned"] != photos:
            found.append(f"the service cleaned up {service['jobsCleaned']} of {photos} scans")
        found += [f"the file {one} is left" for one in facts["files"]]
        asked, lost = self.network.asked, self.network.lost
        found += [f"a photo was sent {asked[one]} times, and {lost[one]} answers were lost"
                  for one in asked if asked[one] > 1 + lost[one]]
        created, unheard = service["jobsCreated"], sum(scan[2] for scan in scans)
        if created < photos:
            found.append(f"the service has {created} photos of {photos}")
        if created > photos + unheard:
            found.append(f"the service was asked {created} times, and {photos} photos were sent "
                         f"with {unheard} answers lost")
        if created > asked.total() - self.missed:
            found.append(f"the service was asked {created} times, more often than the program "
                         f"asked, {asked.total()} times, of which {self.missed} never came")
        if len(service["jobsByPhoto"]) != photos:
            found.append(f"the service knows {len(service['jobsByPhoto'])} photos of {photos}")
        return found

    def library(self):
        """How many books the page says that there are, and which photos it names in them."""
        scan_rig.view(self.page, "Library")
        books = self.page.locator(".book")
        books.first.wait_for()
        named = set()
        for index in range(books.count()):
            books.nth(index).click()
            self.page.locator("#sheet[open]").wait_for()
            named.update(PHOTO.findall(self.page.locator("#sheet").inner_text()))
            self.page.get_by_role("button", name="Close").click()
        return self.page.get_by_role("heading", name="books").inner_text(), named


def run(browser, programs, folder, total, seed):
    """What was found, in lines."""
    began, draw = time.monotonic(), random.Random(seed)
    rig = Rig(*programs, None, folder)
    try:
        photographer = Photographer(rig, draw)
        with browser.page(photographer.server.address) as page:
            photographer.open(page)
            photographer.network.begin()
            for number in range(LOOKS):
                photographer.go_on(number, total // LOOKS)
            seconds = time.monotonic() - began
            photographer.network.stay()
            finish(photographer)
            would_see(photographer)
    finally:
        rig.end()
    return figures(photographer, seconds)


def finish(photographer):
    found = reached(lambda: photographer.problems(photographer.facts()), [])
    found += memory.problems(photographer.memory.ends(WARM_UP)) + console(photographer.page)
    said, named = photographer.library()
    books = photographer.rig.query("SELECT count(*) FROM book")[0][0]
    if said != f"{books} books":
        found.append(f"the library says “{said}”, and the database has {books}")
    if named != set(photographer.given):
        found.append(f"the books' sheets name {len(named)} photos, not {len(photographer.given)}")
    fail_with(found)


def would_see(photographer):
    """The same look finds a photo that the network repeats, and one that is gone."""
    def repeat():
        photographer.network.isRepeating = True
        scan_rig.view(photographer.page, "Photos")
        scan_rig.choose(photographer.page, photographer.take())
    def delete():
        photographer.server.end()
        photographer.rig.query("DELETE FROM scan WHERE id = (SELECT min(id) FROM scan)")
    def look():
        return photographer.problems(photographer.facts())
    asked, service = photographer.network.asked, photographer.rig.counts()
    photographer.missed = asked.total() - service["jobsCreated"]
    finds(look, "more often than the program asked", repeat)
    finds(look, "the database has", delete)


def figures(photographer, seconds):
    network = photographer.network
    return "\n  ".join([
        f"{len(photographer.given) - 1} photographs: all there once, done, after {seconds:.0f} s",
        f"{network.cuts} cuts of the network, {photographer.deaths} deaths of the program: they "
        f"were sent {network.asked.total() - 1} times, with {network.lost.total()} answers lost",
        f"{photographer.unheard} answers of the program were lost to the page, which sent again",
        memory.text(photographer.memory.ends(WARM_UP))])
