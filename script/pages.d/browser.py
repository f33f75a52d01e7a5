"""What drives a page of one of Tern's programs: a browser with each look, pictures, axe-core, and checks of every state."""

import contextlib
import json
import pathlib
import queue
import signal
import subprocess
import threading
import time
import xml.etree.ElementTree as xml

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import sync_playwright

CHROMIUM = "/usr/bin/chromium"

DESKTOP, PHONE = {"width": 1280, "height": 900}, {"width": 390, "height": 844}

# Zoomed to 200 %, a window of 1280 pixels has room for 640.
LOOKS = {
    "desktop-light": {"viewport": DESKTOP, "color_scheme": "light"},
    "desktop-dark": {"viewport": DESKTOP, "color_scheme": "dark"},
    "phone-light": {"viewport": PHONE, "color_scheme": "light"},
    "phone-dark": {"viewport": PHONE, "color_scheme": "dark"},
}
MORE_LOOKS = {
    "landscape": {"viewport": {"width": 844, "height": 390}, "color_scheme": "light"},
    "zoom-200": {"viewport": {"width": 640, "height": 450}, "device_scale_factor": 2},
    "contrast-light": {"viewport": DESKTOP, "color_scheme": "light", "contrast": "more"},
    "contrast-dark": {"viewport": DESKTOP, "color_scheme": "dark", "contrast": "more"},
    "forced-colors": {"viewport": DESKTOP, "forced_colors": "active"},
}
STILL = {"still": {"viewport": PHONE, "reduced_motion": "reduce"}}

# The standard's three levels, so that contrast is 7 to 1.
AXE = {
    "runOnly": {
        "type": "tag",
        "values": ["wcag2a", "wcag2aa", "wcag2aaa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
    }
}

SMALL = """() => [...document.querySelectorAll('a.button, button, input, select')]
  .map((item) => [item, item.getBoundingClientRect()])
  .filter(([item, box]) => box.width > 0 && (box.width < 43.5 || box.height < 43.5))
  .map(([item, box]) => `${item.outerHTML.slice(0, 80)} is ${box.width} x ${box.height}`)"""

WIDE = """() => document.documentElement.scrollWidth > document.documentElement.clientWidth"""


# What fades in is judged when it is there.
STILL_NOW = """() => document.getAnimations()
  .filter((one) => one.effect.getComputedTiming().endTime !== Infinity).forEach((one) => one.finish())"""


class Failed(Exception):
    pass


def check(holds, message):
    if not holds:
        raise Failed(message)


def eventually(look, message, seconds=10):
    """What `look` gives once it is true."""
    end = time.monotonic() + seconds
    while True:
        found = look()
        if found:
            return found
        check(time.monotonic() < end, message)
        time.sleep(0.05)


class Process:
    """A program of ours, whose lines are kept."""

    def __init__(self, *command, folder=None):
        pipe = subprocess.PIPE
        self.child = subprocess.Popen(
            command, stdin=pipe, stdout=pipe, stderr=subprocess.STDOUT, text=True, cwd=folder
        )
        self.lines, self.news = [], queue.Queue()
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self):
        for line in self.child.stdout:
            self.lines.append(line.rstrip("\n"))
            self.news.put(self.lines[-1])

    def line(self, seconds=30):
        try:
            return self.news.get(timeout=seconds)
        except queue.Empty:
            raise Failed(f"{self.child.args[0]} said nothing: {self.lines}") from None

    def tell(self, text):
        self.child.stdin.write(text + "\n")
        self.child.stdin.flush()
        said = self.line()
        check(said == f"done {text}", f"the writer said {said}")

    def end(self, number=signal.SIGTERM):
        if self.child.poll() is None:
            self.child.send_signal(number)
        self.child.wait(timeout=20)
        self.reader.join(timeout=5)

    def finish(self):
        self.child.stdin.close()
        check(self.child.wait(timeout=20) == 0, f"{self.child.args[0]} failed: {self.lines}")


class SmallDisk:
    """A disk in place of a folder, with little room. What enters sees it, and nobody else."""

    def __init__(self, folder, megabytes):
        folder.mkdir()
        self.folder = folder
        self.megabytes = megabytes
        mount = 'mount -t tmpfs -o "size=$1m" tmpfs "$2" && echo there && exec cat'
        self.keeper = Process("unshare", "-rm", "sh", "-c", mount, "sh", str(megabytes), folder)
        check(self.keeper.line() == "there", f"no disk was mounted: {self.keeper.lines}")
        self.enter = ["nsenter", "--preserve-credentials", "-U", "-m", "-t", str(self.keeper.child.pid)]

    @staticmethod
    def is_allowed():
        """Whether the system lets somebody mount one."""
        mount = ["unshare", "-rm", "mount", "-t", "tmpfs", "tmpfs", "/mnt"]
        return subprocess.run(mount, capture_output=True, timeout=30).returncode == 0

    def _run(self, script):
        subprocess.run([*self.enter, "sh", "-c", script, "sh", self.folder], check=True, timeout=30)

    def fill(self):
        """To the last byte, and nothing else than this disk."""
        self._run(f'head -c {self.megabytes << 20} /dev/zero > "$1/fill" 2>/dev/null || true')

    def empty(self):
        self._run('rm "$1/fill"')

    def end(self):
        self.keeper.end(signal.SIGKILL)


class Browser:
    """Chromium, and a folder for pictures."""

    def __init__(self, pictures, *arguments, beside=None):
        """`beside` is another one, from within which this one runs."""
        self.pictures = pathlib.Path(pictures)
        self.pictures.mkdir(parents=True, exist_ok=True)
        self.arguments = ["--no-sandbox", "--disable-gpu", *arguments]
        self.beside = beside
        self.shown, self.states, self.left_out = [], 0, []

    @property
    def found(self):
        return [f"{picture.stem}: {problem}" for picture, problems in self.shown for problem in problems]

    def run(self, flow, *arguments):
        """A flow is a suite of tests, of which it is the first itself. Each state that it shows is another."""
        began, before, failures = time.monotonic(), len(self.shown), []
        try:
            return flow(self, *arguments)
        except BaseException as error:
            failures = [repr(error)]
            raise
        finally:
            seconds = f"{time.monotonic() - began:.1f}"
            print(f"{flow.__name__}: {seconds} s", flush=True)
            self.record(flow.__name__, seconds, failures, self.shown[before:])

    def record(self, flow, seconds, failures, shown):
        """Writes what became of a suite, as JUnit does. The picture of a state is an attachment of its test."""
        suite = xml.Element("testsuite", name=f"{self.pictures.name}.{flow}", tests=str(1 + len(shown)), time=seconds,
                            failures=str(bool(failures) + sum(bool(problems) for _, problems in shown)))

        def test(name, failures):
            case = xml.SubElement(suite, "testcase", classname=flow, name=name)
            for failure in failures:
                xml.SubElement(case, "failure", message=failure)
            return case

        test(flow, failures)
        for picture, problems in shown:
            xml.SubElement(test(picture.stem, problems), "system-out").text = f"[[ATTACHMENT|{picture.resolve()}]]"
        xml.ElementTree(suite).write(self.pictures / f"TEST-{flow}.xml", encoding="utf-8", xml_declaration=True)

    def leave_out(self, flow, reason):
        """Said again at the end, so that nobody takes it for shown."""
        self.left_out.append(f"{flow} was left out: {reason}")

    def __enter__(self):
        self.playwright = self.beside.playwright if self.beside else sync_playwright().start()
        self.chromium = self.playwright.chromium.launch(executable_path=CHROMIUM, args=self.arguments)
        return self

    def __exit__(self, *_):
        self.chromium.close()
        if not self.beside:
            self.playwright.stop()
            return
        self.beside.shown += self.shown
        self.beside.left_out += self.left_out
        self.beside.states += self.states

    @contextlib.contextmanager
    def page(self, address, look="desktop-light"):
        context = self.chromium.new_context(**{**LOOKS, **MORE_LOOKS, **STILL}[look])
        page = context.new_page()
        page.set_default_timeout(10_000)
        page.said = []
        page.on("console", lambda message: page.said.append(message.text))
        page.on("pageerror", lambda error: page.said.append(str(error)))
        page.goto(address)
        try:
            yield page
        except BaseException:
            with contextlib.suppress(Exception):
                print(f"the page's console says {page.said}, and it shows {page.inner_text('body')!r}")
            raise
        finally:
            context.close()

    def state(self, page, name, look):
        """Takes a picture of a state, and looks for what is wrong with it."""
        page.evaluate(STILL_NOW)
        problems = self.picture(page, f"{name}-{look}", full_page=True)
        self.states += 1
        for violation in Axe().run(page, options=AXE).response["violations"]:
            nodes = [node["html"][:120] for node in violation["nodes"][:3]]
            problems.append(f"{violation['id']}: {violation['help']}: {json.dumps(nodes)}")
        problems += page.evaluate(SMALL)
        if page.evaluate(WIDE):
            problems.append("it is wider than the window")

    def picture(self, page, name, **how):
        """Takes a picture. Returns a list for what is wrong with it."""
        picture, problems = self.pictures / f"{name}.png", []
        page.screenshot(path=picture, **how)
        self.shown.append((picture, problems))
        return problems
