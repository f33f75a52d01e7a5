#!/usr/bin/env python3
"""Runs built tests, several processes at once, and says how far they are, how long each suite took and what failed.

usage: run.py --record FILE [--workers N] [--filter REGEX] [--skip REGEX] [--again COMMAND] BINARY...

Within a process tests run one after the other. Suites are shared out in units, the longest first, to as many
processes as there are workers; those of `alone` (script/test.d/suites) run last, one after the other, with nothing
beside them. A unit that says nothing for too long is ended. FILE gets what every suite took, as JSON.
Exit status: 0 if all passed, 1 if not, 2 if nothing could be run.
"""
import argparse
import collections
import json
import os
import queue
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time

# A long rehearsal is one test, and says nothing before its end.
SILENCE_S = 1800 if os.environ.get("TERN_LONG") else 600
HERE = os.path.dirname(os.path.abspath(__file__))
TICK = os.sysconf("SC_CLK_TCK")


class Suite:
    """A top-level suite, or the tests of a file without one: what a filter names."""

    def __init__(self, binary, name):
        self.binary, self.name = binary, name
        self.tests = []
        # Whether all its tests are chosen.
        self.is_whole = True
        self.passed = self.wall = self.processor = 0

    @property
    def patterns(self):
        return [re.escape(name) for name in ([self.name] if self.is_whole else self.tests)]

    @property
    def target(self):
        return self.name.split(".")[0]


def owner(test):
    """The suite of a test, `Target.Suite`; a test outside of suites is one by itself."""
    suite = re.match(r"\w+\.\w+(?=/|$)", test)
    return suite[0] if suite else test[: test.rindex(")") + 1]


def expectations():
    """Seconds of the suites that take long, and those that need the machine to themselves."""
    seconds, alone = {}, set()
    with open(os.path.join(HERE, "suites"), encoding="utf8") as lines:
        for line in lines:
            words = line.split("#")[0].split()
            if not words:
                continue
            seconds[words[0]] = float(words[1])
            if words[2:] == ["alone"]:
                alone.add(words[0])
    return seconds, alone


def listed(binary, options):
    """The suites with the tests that are chosen: listing itself takes no filter."""
    command = [binary, "--testing-library", "swift-testing", "--list-tests"]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    if found.returncode not in (0, 69):
        sys.exit(f"{' '.join(command)} ended with {found.returncode}:\n{found.stdout}{found.stderr}")
    suites = {}
    for line in found.stdout.splitlines():
        if "." not in line:
            continue
        # With its place where another target has a test of that name.
        test, name = plain(line), owner(line)
        suite = suites.setdefault(name, Suite(binary, name))
        if options.filter and not any(re.search(text, test) for text in options.filter):
            suite.is_whole = False
        elif any(re.search(text, test) for text in options.skip):
            suite.is_whole = False
        else:
            suite.tests.append(test)
    return [suite for suite in suites.values() if suite.tests]


def units(suites, seconds):
    """Suites that take long by themselves, the others of a target together, the longest first."""
    made, small = [], collections.defaultdict(list)
    for suite in suites:
        if seconds.get(suite.name, 0) >= 5:
            made.append([suite])
        else:
            small[suite.binary, suite.target].append(suite)
    for together in small.values():
        pieces = min(len(together), max(1, round(cost(together, seconds) / 12)))
        made += [together[piece::pieces] for piece in range(pieces)]
    return sorted(made, key=lambda unit: -cost(unit, seconds))


def cost(suites, seconds):
    return sum(seconds.get(suite.name, 0.05 * len(suite.tests)) for suite in suites)


def processor_seconds(process):
    """Of the process and of the children that it has waited for."""
    try:
        with open(f"/proc/{process}/stat", encoding="utf8") as stat:
            fields = stat.read().rsplit(")", 1)[1].split()
    except OSError:
        return None
    return sum(int(field) for field in fields[11:15]) / TICK


def end(process):
    """Ends a process and what it started."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


class Run:
    def __init__(self, total, stops):
        self.lock = threading.Lock()
        self.total = total
        self.start = self.said = time.monotonic()
        self.done = 0
        self.failures = []
        self.running = {}
        self.is_terminal = sys.stdout.isatty()
        self.stops = stops
        self.processes = {}

    def say(self):
        """How far the run is: a line every ten seconds, or one that changes on a terminal."""
        now = time.monotonic()
        if now - self.said < (0.2 if self.is_terminal else 9):
            return
        self.said = now
        names = ", ".join(sorted(name.split(".")[-1] for name in self.running.values()))
        line = f"  {self.done:4} of {self.total} tests, {now - self.start:4.0f} s: {names}"
        if self.is_terminal:
            print("\r\033[K" + line[: os.get_terminal_size().columns - 1], end="", flush=True)
        else:
            print(line, flush=True)

    def fail(self, test, text):
        self.failures.append((test, text))
        print(("\r\033[K" if self.is_terminal else "") + f"✘ {test}\n{text}", flush=True)
        if self.stops:
            for process in self.processes.values():
                end(process)


def perform(unit, run, log_folder, number):
    """Runs a unit in a process, and gives each suite what it took."""
    binary = unit[0].binary
    by_name = {suite.name: suite for suite in unit}
    pattern = "^(" + "|".join(name for suite in unit for name in suite.patterns) + ")(/|$)"
    events = os.path.join(log_folder, f"events-{number}")
    log_path = os.path.join(log_folder, f"log-{number}")
    os.mkfifo(events)
    command = [
        binary, "--testing-library", "swift-testing", "--no-parallel", "--filter", pattern,
        "--event-stream-output-path", events, "--event-stream-schema-version", "0",
    ]
    with open(log_path, "wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, start_new_session=True)
    with run.lock:
        run.processes[number] = process
    heard = [time.monotonic()]
    finished = threading.Event()

    def watch():
        while not finished.wait(5):
            if time.monotonic() - heard[0] > SILENCE_S:
                end(process)
                return

    # Opening waits for the other end, which a process that dies at its start never opens.
    descriptor = os.open(events, os.O_RDONLY | os.O_NONBLOCK)
    os.set_blocking(descriptor, True)
    threading.Thread(target=watch, daemon=True).start()
    current, issues, began = None, collections.defaultdict(list), {}
    # Tests that have neither ended nor been skipped; and whether one of this unit was told to have failed.
    awaited, told = {test for suite in unit for test in suite.tests}, False
    mark = [time.monotonic(), 0.0]

    def charge(suite):
        now, processor = time.monotonic(), processor_seconds(process.pid)
        if suite:
            suite.wall += now - mark[0]
            suite.processor += max(0, (processor or mark[1]) - mark[1])
        mark[:] = [now, processor or mark[1]]

    buffer = b""
    while True:
        chunk = os.read(descriptor, 1 << 16)
        if not chunk:
            if process.poll() is not None:
                break
            time.sleep(0.005)
            continue
        heard[0] = time.monotonic()
        buffer += chunk
        *lines, buffer = buffer.split(b"\n")
        for line in lines:
            record = json.loads(line)
            if record["kind"] != "event":
                continue
            event = record["payload"]
            kind, test = event["kind"], event.get("testID", "")
            name = owner(test) if test else None
            suite = by_name.get(name)
            if suite is None and kind != "issueRecorded":
                continue
            # Of a test and not of a suite.
            is_test = "(" in test
            if kind == "testStarted" and is_test:
                charge(current)
                current = suite
                began[test] = time.monotonic()
                with run.lock:
                    run.running[number] = name
                    run.say()
            elif kind == "issueRecorded" and not event["issue"].get("isKnown"):
                if event["issue"].get("severity", "error") == "error":
                    issues[test].append(described(event))
            elif kind in ("testEnded", "testSkipped") and is_test:
                began.pop(test, None)
                awaited.discard(plain(test))
                charge(suite)
                with run.lock:
                    run.done += 1
                    if test in issues:
                        told = True
                        run.fail(plain(test), "\n".join(issues.pop(test)))
                    elif kind == "testEnded":
                        suite.passed += 1
                    run.say()
    finished.set()
    os.close(descriptor)
    status = process.wait()
    # What is left of the group: children that a test that failed did not wait for.
    end(process)
    with run.lock:
        run.running.pop(number, None)
        run.processes.pop(number, None)
        if run.stops and run.failures:
            return
        # Of what ended before, of a whole suite, or of no test at all.
        for test, texts in issues.items():
            told = True
            run.fail(plain(test) or unit[0].name, "\n".join(texts))
        if status < 0 or status > 1 or (status and not told):
            told = True
            what = f"was ended by signal {-status}" if status < 0 else f"ended with {status}"
            running = [plain(test) for test in began] or [suite.name for suite in unit]
            with open(log_path, "rb") as log:
                tail = log.read().decode(errors="replace").splitlines()[-40:]
            for test in running:
                awaited.discard(test)
                run.fail(test, f"  its process {what}:\n  " + "\n  ".join(tail))
        for test in sorted(awaited):
            run.fail(test, "  it was not run")


def plain(test):
    """A test's name without its place: `Target.Suite/test()`."""
    return re.sub(r"/[^/]+\.swift:\d+:\d+$", "", test)


def described(event):
    issue = event["issue"]
    place = issue.get("sourceLocation") or {}
    where = place.get("_filePath") or place.get("filePath") or place.get("fileID") or "?"
    texts = [m["text"] for m in event.get("messages", []) if m.get("symbol") != "default"] or [
        m["text"] for m in event.get("messages", [])]
    return f"  {where}:{place.get('line', '?')}: " + "\n    ".join(texts)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("binaries", nargs="+")
    parser.add_argument("--record", required=True)
    parser.add_argument("--logs", required=True)
    parser.add_argument("--workers", type=int, default=2 * (os.cpu_count() or 1))
    parser.add_argument("--filter", action="append", default=[])
    parser.add_argument("--skip", action="append", default=[])
    parser.add_argument("--again", default="script/test")
    parser.add_argument("--first-failure", action="store_true", help="end at the first test that fails")
    options = parser.parse_args()

    suites = [suite for binary in options.binaries for suite in listed(binary, options)]
    if not suites:
        print(f"no test matches {' '.join(options.filter)}", file=sys.stderr)
        return 2
    seconds, alone = expectations()
    run = Run(sum(len(suite.tests) for suite in suites), options.first_failure)
    work = queue.SimpleQueue()
    shared = units([suite for suite in suites if suite.name not in alone], seconds)
    lonely = units([suite for suite in suites if suite.name in alone], seconds)
    os.makedirs(options.logs, exist_ok=True)
    folder = tempfile.mkdtemp(dir=options.logs)

    def worker():
        while True:
            try:
                number, unit = work.get_nowait()
            except queue.Empty:
                return
            if run.stops and run.failures:
                return
            perform(unit, run, folder, number)

    over = threading.Event()

    def tick():
        while not over.wait(10):
            with run.lock:
                run.say()

    threading.Thread(target=tick, daemon=True).start()
    for group, count in ((list(enumerate(shared)), options.workers), (list(enumerate(lonely, len(shared))), 1)):
        for item in group:
            work.put(item)
        threads = [threading.Thread(target=worker) for _ in range(count)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    over.set()
    if run.is_terminal:
        print("\r\033[K", end="")

    took = time.monotonic() - run.start
    with open(options.record, "w", encoding="utf8") as record:
        json.dump({
            "seconds": took, "logs": folder, "failed": len(run.failures),
            "suites": {
                suite.name: {"tests": len(suite.tests), "wall": round(suite.wall, 2),
                             "processor": round(suite.processor, 2)} for suite in suites},
        }, record, indent=1)
    passed = sum(suite.passed for suite in suites)
    if run.failures:
        print(f"\n{len(run.failures)} of {run.total} tests failed; what they printed is in {folder}:")
        for test, text in run.failures:
            print(f"✘ {test}\n{text}\n  again: {options.again} '{test}'")
        print(f"✘ Test run with {run.total} tests in {len(suites)} suites failed after {took:.3f} seconds "
              f"with {len(run.failures)} issues.")
        return 1
    print(f"✔ Test run with {passed} tests in {len(suites)} suites passed after {took:.3f} seconds.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
