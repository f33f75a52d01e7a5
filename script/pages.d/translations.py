"""Many sentences typed into the page of `translate serve`, while network and program fail."""

import contextlib
import json
import random
import re
import signal
import sqlite3
import statistics
import time
import urllib.request
from collections import Counter

import memory
import translate_page
from browser import check, eventually
from checks import PATIENCE, console, difference, fail_with, finds, reached
from cuts import Network, lost_answer

SENTENCES = [
    ("The dog sees {} cats.", "El perro ve {} gatos."),
    ("The bird eats {} apples.", "El pájaro come {} manzanas."),
    ("The teacher buys {} books.", "El profesor compra {} libros."),
    ("My brother has {} chairs.", "Mi hermano tiene {} sillas."),
    ("The girl wants {} flowers.", "La chica quiere {} flores."),
]

# How often all is looked at, on how many looks a conversation goes on, and before which of them the
# program dies. After the last death it lives on, so that its memory can be compared.
LOOKS, LOOKS_A_TALK, DEATHS = 20, 3, (1, 3, 5, 7)

# Of a conversation the page shows the newest, and in the history the newest of all.
SHOWN, LISTED = 100, 500

# A person types on, up to so many without an answer.
AHEAD = 4

LEFT = {"questions wait": "asked WHERE NOT isOver", "questions failed": "asked WHERE isOver",
        "jobs have not ended well": "grdb_tern_jobs WHERE state <> 'done'"}

CARDS = """(most) => [...document.querySelectorAll('.entry')].slice(-most).map((entry) =>
  [entry.querySelector('.asked .text').textContent,
   entry.querySelector('[data-act=copy]') && entry.querySelector('.came .text').textContent])"""

ASKED = re.compile(rb'"text":"([A-Z][a-z]+ [a-z]+ [a-z]+ \d+ [a-z]+\.)"')


def name(request):
    found = ASKED.search(request)
    return found and found[1].decode()


def pair(number):
    asked, came = SENTENCES[number % len(SENTENCES)]
    return asked.format(number + 2), came.format(number + 2)


class Rig(translate_page.Rig):
    def counts(self):
        address = f"{self.interpreter.address}/control/counts"
        with urllib.request.urlopen(address, timeout=10) as answer:
            return json.load(answer)

    def change(self, sql):
        with contextlib.closing(sqlite3.connect(self.file("many"))) as database, database:
            database.execute(sql)


class Typist:
    """Who uses the page, and remembers what was typed."""

    def __init__(self, rig, network, draw):
        self.rig, self.network, self.draw = rig, network, draw
        self.server = rig.serve("many", service=f"http://127.0.0.1:{network.port}")
        # Pairs of what was asked and what has to come: all of them, and those of this conversation.
        self.said, self.talk, self.looked = [], [], 0
        self.deaths, self.repeats, self.unheard, self.seconds = 0, 0, 0, []
        # Requests that never came to the service, once no more can be lost.
        self.missed = 0

    def open(self, page):
        self.page, self.memory = page, memory.Memory(page)
        page.set_default_timeout(PATIENCE)
        self.field, self.button = page.locator("#text"), page.locator("#send")
        translate_page.ready(page)
        translate_page.choose(page, "from", "en")

    def go_on(self, number, count):
        """Types the sentences of one look, one of them twice, and at one the program dies."""
        if number % LOOKS_A_TALK == 0:
            self.page.get_by_role("link", name="New").click()
            eventually(lambda: not self.cards(), "the new conversation is not empty")
            self.talk = []
        pairs = [pair(one) for one in range(number * count, (number + 1) * count)]
        place = self.draw.randrange(count)
        pairs.insert(self.draw.randint(place + 1, count), pairs[place])
        self.repeats += 1
        fates = {self.draw.randrange(count): self.lose_answer} if number % 2 else {}
        if number in DEATHS:
            fates[self.draw.randrange(count)] = self.kill
        for index, each in enumerate(pairs):
            self.type(each, fates.get(index))

    def type(self, each, fate):
        began, cuts = time.monotonic(), self.network.cuts
        self.field.fill(each[0])
        with fate() if fate else contextlib.nullcontext():
            self.press()
        self.said.append(each)
        self.talk.append(each)
        eventually(lambda: self.unanswered() <= AHEAD, "no answers come", 90)
        # A person looks at the answer for a moment, and types on where there is none.
        left = reached(self.unanswered, 0, 0.5)
        if not left and not fate and cuts == self.network.cuts:
            self.seconds.append(time.monotonic() - began)

    def press(self):
        """Again, as long as the text stays in the field, once the program answers."""
        gone, toast = self.page.locator(".notice.bad"), self.page.locator(".toast")
        while self.field.input_value():
            eventually(lambda: not gone.count(), "the program does not come back", 30)
            # It may go by itself meanwhile.
            self.page.evaluate("document.querySelector('.toast [data-act=dismiss]')?.click()")
            self.button.click()
            eventually(lambda: not self.field.input_value() or toast.count(), "nothing is sent", 30)

    @contextlib.contextmanager
    def kill(self):
        """While the question is on its way; the page stays open."""
        self.button.click()
        time.sleep(self.draw.uniform(0, 0.05))  # real time: a moment of its own
        with self.network.death():
            self.server.end(signal.SIGKILL)
        self.deaths += 1
        time.sleep(self.draw.uniform(0.3, 2))  # real time: until somebody starts it
        self.server = self.rig.serve("many", self.server.port)
        yield

    @contextlib.contextmanager
    def lose_answer(self):
        """The program has the question, and the page never hears of it."""
        with lost_answer(self.page, "*/api/ask"):
            self.button.click()
        eventually(self.page.locator(".toast").count, "nothing is said of an answer that was lost")
        self.unheard += 1
        yield

    def cards(self, most=SHOWN):
        """What the page shows that was asked last, each with its answer or None."""
        return self.page.evaluate(CARDS, most)

    def unanswered(self):
        """Of those that were typed last: before them all are answered."""
        last = AHEAD + 4
        answered = Counter(asked for asked, came in self.cards(last) if came is not None)
        return (Counter(asked for asked, _ in self.talk[-last:]) - answered).total()

    def look(self):
        """On the page and in the database everything is there, once and in order."""
        wanted = [list(each) for each in self.talk[-SHOWN:]]
        shown = reached(self.cards, wanted, 90)
        check(shown == wanted, f"the page shows {difference(shown, wanted)}")
        newest = self.said[self.looked:]
        rows = self.rows()[-len(newest):]
        check(rows == newest, f"the database has {difference(rows, newest)}")
        self.looked = len(self.said)
        self.memory.look(self.server.child.pid)

    def rows(self):
        return self.rig.query("many", """SELECT phrase.text, answer.text FROM phrase
            LEFT JOIN answer ON answer.phrase = phrase.id ORDER BY askedAt""")

    def facts(self):
        left = {words: self.rig.query("many", f"SELECT count(*) FROM {table}")[0][0]
                for words, table in LEFT.items()}
        cached = [text for text, in self.rig.query("many", "SELECT text FROM cache")]
        return {"rows": self.rows(), "cached": cached, "left": left,
                "requests": self.rig.counts()["requests"]}

    def history(self):
        """What the page says of how many there are, and how many it shows."""
        self.page.get_by_role("link", name="History").click()
        lines = self.page.locator(".line")
        lines.first.wait_for()
        return self.page.locator(".quiet[role=status]").inner_text(), lines.count()

    def problems(self, facts):
        """What is lost, twice, or not as it was asked."""
        found = [f"{count} {words}" for words, count in facts["left"].items() if count]
        once = sorted({asked for asked, _ in self.said})
        if facts["rows"] != self.said:
            found.append(f"the database has {difference(facts['rows'], self.said)}")
        if sorted(facts["cached"]) != once:
            found.append(f"of {len(once)} translations {len(facts['cached'])} are kept for later")
        asked, lost = self.network.asked, self.network.lost
        found += [f"{one!r} was asked {asked[one]} times, and {lost[one]} answers were lost"
                  for one in once if not 1 <= asked[one] <= 1 + lost[one]]
        found += [f"{one!r} was asked, and never typed" for one in asked.keys() - set(once)]
        if facts["requests"] < len(once):
            found.append(f"the service answered {facts['requests']} of {len(once)} questions")
        if facts["requests"] > asked.total() - self.missed:
            found.append(f"the service was asked {facts['requests']} times, more often than the "
                         f"program asked, {asked.total()} times, of which {self.missed} never came")
        return found


def run(browser, programs, folder, total, seed):
    """What was found, in lines."""
    began, draw = time.monotonic(), random.Random(seed)
    rig = Rig(*programs, None, folder)
    service = int(rig.interpreter.address.rsplit(":", 1)[1])
    network = Network(service, name, random.Random(seed + 1))
    try:
        typist = Typist(rig, network, draw)
        with browser.page(typist.server.address) as page:
            typist.open(page)
            network.begin()
            for number in range(LOOKS):
                typist.go_on(number, total // LOOKS)
                typist.look()
            seconds = time.monotonic() - began
            network.stay()
            finish(typist)
            would_see(typist)
    finally:
        rig.end()
    return figures(typist, seconds)


def finish(typist):
    found = reached(lambda: typist.problems(typist.facts()), [])
    found += memory.problems(typist.memory.ends(LOOKS_A_TALK)) + console(typist.page)
    wanted = min(len(typist.said), LISTED)
    said, shown = typist.history()
    if str(wanted) not in said.split() or shown != wanted:
        found.append(f"the history says “{said}” and shows {shown}, not {wanted}")
    fail_with(found)


def would_see(typist):
    """The same look finds a question that the network repeats, and a row that is gone."""
    def repeat():
        typist.network.isRepeating = True
        typist.page.get_by_role("link", name="New").click()
        typist.talk = []
        typist.type(pair(10_000), None)
    def delete():
        typist.server.end()
        typist.rig.change("DELETE FROM phrase WHERE id IN (SELECT id FROM phrase LIMIT 1)")
    def look():
        return typist.problems(typist.facts())
    typist.missed = typist.network.asked.total() - typist.rig.counts()["requests"]
    finds(look, "more often than the program asked", repeat)
    finds(look, "the database has", delete)


def figures(typist, seconds):
    network, ordered = typist.network, sorted(typist.seconds)
    return "\n  ".join([
        f"{len(typist.said) - typist.repeats - 1} translations, {typist.repeats} of them asked for "
        f"twice: all there once and in order, after {seconds:.0f} s",
        f"{network.cuts} cuts of the network, {typist.deaths} deaths of the program: the service "
        f"was asked {network.asked.total() - 1} times, with {network.lost.total()} answers lost",
        f"{typist.unheard} answers of the program were lost to the page, which asked again",
        f"an answer is there {statistics.median(ordered):.2f} s after the press, and 95 of 100 "
        f"within {ordered[len(ordered) * 95 // 100]:.2f} s, where nothing was cut",
        memory.text(typist.memory.ends(LOOKS_A_TALK))])
