"""Drives the dashboard of `tern serve`: dashboard_page.py TERN PICTURES."""

import http.server
import json
import pathlib
import shutil
import signal
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "Examples" / "Python"))
from tern import Replica, Space, Table  # noqa: E402

import strangers  # noqa: E402
from browser import Browser, Failed, LOOKS, MORE_LOOKS, Process, check, eventually  # noqa: E402

BOOKS = Table("book", ["isbn"], ["title"])
MARKUP = "<img src=x onerror=document.title='stolen'>"

# A site of its own that has guessed where the server is, and has an operator's token.
ATTACK = """async ({ target, token }) => {
  const outcome = {};
  const headers = { Authorization: `Bearer ${token}` };
  const attempt = async (name, work) => {
    try { outcome[name] = await work(); } catch { outcome[name] = 'refused'; }
  };
  await attempt('read', async () => (await fetch(`${target}/v1/admin/spaces`, { headers })).text());
  await attempt('page', async () => (await fetch(`${target}/dashboard/`)).text());
  await attempt('module', async () => Object.keys(await import(`${target}/dashboard/kit.js`)).join());
  await attempt('write', async () =>
    (await fetch(`${target}/v1/admin/spaces/other`, { method: 'PUT', headers })).text());
  await attempt('frame', () => new Promise((resolve, reject) => {
    const frame = document.createElement('iframe');
    frame.src = `${target}/dashboard/`;
    frame.onload = () => { try { resolve(frame.contentDocument.title); } catch { reject(); } };
    document.body.append(frame);
  }));
  return outcome;
}"""


class Careless(strangers.Careless):
    """A server that lets every site in, by which the test sees that it would notice one."""

    KINDS = {"/dashboard/kit.js": ("text/javascript", b"export const kit = 1;")}

    def do_PUT(self):
        self.answer("text/plain", b"done")

    def end_headers(self):
        self.send_header("Access-Control-Allow-Methods", "GET, PUT")
        super().end_headers()


class Rig:
    """A server with operators, and devices that push to it."""

    def __init__(self, tern, folder):
        self.tern, self.folder = tern, pathlib.Path(folder)
        made = Process(tern, "operator", "create", "anna")
        made.child.wait(timeout=20)
        made.reader.join(timeout=5)
        self.token = next(line for line in made.lines if line.startswith("tern_operator_"))
        self.line = next(line for line in made.lines if line.startswith("anna "))
        self.operators = self.folder / "operators"
        self.operators.touch(mode=0o600)
        self.operators.write_text(f"{self.line}\n")
        self.ports = ["0", "0"]
        self.lines = []
        self.start()

    def start(self):
        self.process = Process(
            self.tern, "serve", "--data", str(self.folder / "data.tern"), "--port", self.ports[0],
            "--admin-port", self.ports[1], "--operator-tokens", str(self.operators), "--dashboard",
            "--log-level", "info",
        )
        self.address, urls = None, {}
        while len(urls) < 3:
            line = self.process.line()
            for word in ("listening", "metrics", "dashboard"):
                if line.startswith(f"tern: {word} on "):
                    urls[word] = line.split(" on ")[1]
        self.address = urls["dashboard"]
        check(self.address == urls["metrics"] + "/dashboard/", f"the dashboard is at {self.address}")
        self.devices = urls["listening"]
        self.ports = [urls[word].rsplit(":", 1)[1] for word in ("listening", "metrics")]

    def end(self, number=signal.SIGTERM):
        self.process.end(number)
        self.lines += self.process.lines

    def ask(self, method, path, body=None):
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        content = None if body is None else json.dumps(body)
        status, text, _ = strangers.request(
            int(self.ports[1]), f"/v1/admin/{path}", method, headers, content)
        check(status == 200, f"{method} {path} is answered {status}: {text}")
        return json.loads(text)

    def device(self, space, member=None, label=None):
        token = self.ask("POST", f"spaces/{space}/tokens", {"member": member, "label": label})["token"]
        file = self.folder / f"{space}-{time.monotonic_ns()}.sqlite"
        return Replica(str(file), BOOKS), Space(self.devices, space, token)

    def write(self, device, count):
        replica, space = device
        for number in range(count):
            replica.put({"isbn": str(time.monotonic_ns()), "title": f"Book {number}"})
        check(replica.sync(space) is None, "the server takes nothing")


def enter(page, rig):
    page.get_by_label("Token").fill(rig.token)
    page.get_by_role("button", name="Open").click()
    page.get_by_role("heading", name="Spaces").wait_for()


def show(page, name):
    page.get_by_role("link", name=name, exact=True).click()
    page.get_by_role("heading", name=f"Space {name}").wait_for()


# The flows.


def lets_operators_in(browser, rig):
    """By a token alone, which the page keeps in its tab and forgets when it is left."""
    with browser.page(rig.address) as page:
        page.get_by_label("Token").fill(rig.token[:-1] + "x")
        page.keyboard.press("Enter")
        page.get_by_text("makes a token").first.wait_for()
        browser.state(page, "refused", "desktop-light")
        page.get_by_label("Token").fill(rig.token + "…")
        page.keyboard.press("Enter")
        page.get_by_text("a character that no token has").first.wait_for()
        enter(page, rig)
        check(rig.token not in page.url, "the address has the token")
        check(page.evaluate("localStorage.length + document.cookie.length") == 0, "the token outlives the tab")
        # A page that is loaded again is let in, and what is left has no token.
        page.reload()
        page.get_by_role("heading", name="Spaces").wait_for()
        show(page, "home")
        page.go_back()
        page.get_by_role("heading", name="Spaces").wait_for()
        page.get_by_role("button", name="Leave").click()
        page.get_by_label("Token").wait_for()
        check(page.evaluate("sessionStorage.length") == 0, "the token stays behind")
        check("home" not in page.locator("main").inner_text(), "spaces are shown to nobody")
        # A line that goes out of the file counts at once.
        enter(page, rig)
        rig.operators.write_text("")
        page.get_by_label("Token").wait_for(timeout=20_000)
        rig.operators.write_text(f"{rig.line}\n")


def shows_spaces(browser, rig):
    """Spaces with what they store, devices with what they have read, as text."""
    with browser.page(rig.address) as page:
        enter(page, rig)
        text = page.locator("main").inner_text()
        for words in ["home", "work", "suspended", "almost full"]:
            check(words in text, f"the list lacks {words}: {text}")
        show(page, "home")
        text = page.locator("main").inner_text()
        for words in ["anna", MARKUP, "has read least: it is 5 operations behind", "banned after", "almost full",
                      "of 13"]:
            check(words in text, f"the space lacks {words}: {text}")
        check(page.locator("main img").count() == 0 and page.title() != "stolen", "markup came alive")
        page.goto(f"{rig.address}#/space/nowhere")
        page.get_by_text("There is no space nowhere").first.wait_for()
        page.goto(f"{rig.address}#/space/%zz")
        page.get_by_text("Asking the server").wait_for(state="detached")
        page.get_by_role("link", name="Spaces").click()
        page.get_by_label("Space", exact=True).fill("work")
        page.keyboard.press("Enter")
        page.get_by_role("heading", name="Space work").wait_for()
        page.get_by_text("No device reads or writes it since").wait_for()
        check(not page.said or all("40" in line for line in page.said), f"the console says {page.said}")


def turns_pages(browser, rig):
    """100 spaces are a page."""
    for number in range(105):
        rig.ask("PUT", f"spaces/many-{number:03}")
    with browser.page(rig.address) as page:
        enter(page, rig)
        page.get_by_role("link", name="Next spaces").click()
        page.get_by_role("link", name="many-104").wait_for()
        page.get_by_role("link", name="First spaces").click()
        page.get_by_role("link", name="many-000").wait_for()
    for number in range(105):
        rig.ask("DELETE", f"spaces/many-{number:03}")


def follows(browser, rig):
    """What devices push comes by itself, and a server that was away."""
    device = rig.device("work")
    with browser.page(rig.address) as page:
        enter(page, rig)
        rig.ask("DELETE", "spaces/work/suspension")
        rig.write(device, 3)
        page.get_by_role("row", name="work").get_by_text("+3").wait_for(timeout=20_000)
        show(page, "work")
        page.get_by_text("+3 since this page first showed it").wait_for()
        rig.end(signal.SIGKILL)
        page.get_by_text("The server does not answer").first.wait_for(timeout=20_000)
        page.get_by_text("Below is what was read last").wait_for()
        browser.state(page, "gone", "desktop-light")
        rig.start()
        page.get_by_text("The server does not answer").first.wait_for(state="detached", timeout=30_000)
        # The operator's token is a file's, not the process's.
        rig.write((device[0], Space(rig.devices, "work", device[1].token)), 1)
        page.get_by_text("+4 since this page first showed it").wait_for(timeout=20_000)
    rig.ask("PUT", "spaces/work/suspension")


def looks(browser, rig):
    """Every view in every look: pictures, and what axe-core finds."""
    for look in list(LOOKS) + list(MORE_LOOKS):
        with browser.page(rig.address, look) as page:
            page.get_by_label("Token").wait_for()
            browser.state(page, "enter", look)
            enter(page, rig)
            browser.state(page, "spaces", look)
            show(page, "home")
            browser.state(page, "space", look)
            check(not page.said, f"the console says {page.said}")


def keys(browser, rig):
    """By keyboard alone."""
    with browser.page(rig.address) as page:
        page.get_by_label("Token").focus()
        page.keyboard.type(rig.token)
        page.keyboard.press("Enter")
        page.get_by_role("heading", name="Spaces").wait_for()
        page.evaluate("document.activeElement.blur()")
        for _ in range(20):
            page.keyboard.press("Tab")
            if page.evaluate("document.activeElement.textContent") == "home":
                break
        outline = page.evaluate("getComputedStyle(document.activeElement).outlineWidth")
        check(outline == "3px", f"the focus has an outline of {outline}")
        page.keyboard.press("Enter")
        page.get_by_role("heading", name="Space home").wait_for()
        # A read that follows leaves the focus where it is.
        page.keyboard.press("Tab")
        focused = page.evaluate("document.activeElement.outerHTML")
        said = page.locator("#state").inner_text()
        eventually(lambda: page.locator("#state").inner_text() != said, "nothing is read again", 20)
        check(page.evaluate("document.activeElement.outerHTML") == focused, "the focus is lost")


def strangers_stay_out(browser, rig):
    """Another site in the same browser reads nothing, even with a token; nor does anybody without one."""
    target = rig.address.removesuffix("/dashboard/")
    site, careless = (http.server.ThreadingHTTPServer(("127.0.0.1", 0), kind) for kind in (strangers.Site, Careless))
    for each in (site, careless):
        threading.Thread(target=each.serve_forever, daemon=True).start()
    try:
        with browser.page(f"http://127.0.0.1:{site.server_port}") as other:
            asked = {"target": f"http://127.0.0.1:{careless.server_port}", "token": rig.token}
            seen = other.evaluate(ATTACK, asked)
            missed = {name for name, found in seen.items() if found == "refused"} - {"frame"}
            check(not missed, f"the test would not see a stranger's {missed}")
            other.reload()
            outcome = other.evaluate(ATTACK, {**asked, "target": target})
            got = {name: found for name, found in outcome.items() if found != "refused"}
            check(not got, f"another site gets {got}")
            rebound = other.goto(f"http://stranger.test:{rig.ports[1]}/dashboard/")
            check(rebound.status == 200, "the page's files are anybody's")
            status = other.evaluate("fetch('../v1/admin/spaces').then((answer) => answer.status)")
            check(status == 401, f"under another name it is let in with {status}")
    finally:
        site.shutdown()
        careless.shutdown()
    port = int(rig.ports[1])
    for path in ("/dashboard/", "/dashboard/kit.js", "/dashboard/none", "/dashboard"):
        status, text, headers = strangers.request(port, path)
        check("default-src 'none'" in headers["content-security-policy"], f"{path} has no policy")
        check(status == {"/dashboard/none": 404, "/dashboard": 308}.get(path, 200), f"{path} is answered {status}")
    status, _, headers = strangers.request(port, "/dashboard/", "POST")
    check(status == 405 and headers["allow"] == "GET", f"a POST is answered {status}")


def prepare(rig):
    """Two spaces: in one of them a device that is behind, and another one that is banned."""
    for name in ("home", "work"):
        rig.ask("PUT", f"spaces/{name}")
    first, second = rig.device("home", "anna", "phone"), rig.device("home", "ben", MARKUP)
    banned = rig.device("home", "carl")
    rig.write(banned, 2)
    # A pull tells the server what the one before has brought: three syncs until it knows of the own writes.
    for device in (second, first):
        for count in (5, 0, 0):
            rig.write(device, count)
    replica = next(item["replica"] for item in rig.ask("GET", "spaces/home")["replicas"] if item["member"] == "carl")
    rig.ask("PUT", f"spaces/home/replicas/{replica}/ban")
    rig.ask("PUT", "spaces/home/quota", {"operations": 13})
    rig.ask("PUT", "spaces/work/suspension")


def main(tern, pictures):
    began = time.monotonic()
    shutil.rmtree(pictures, ignore_errors=True)
    with tempfile.TemporaryDirectory() as folder:
        rig = Rig(tern, folder)
        try:
            prepare(rig)
            with Browser(pictures, "--host-resolver-rules=MAP stranger.test 127.0.0.1") as browser:
                for flow in (shows_spaces, lets_operators_in, looks, keys, turns_pages, follows, strangers_stay_out):
                    browser.run(flow, rig)
        finally:
            rig.end()
        check(not [line for line in rig.lines if rig.token in line], "the log holds the token")
    for problem in browser.found:
        print(problem)
    check(not browser.found, f"{len(browser.found)} problems in {browser.states} states")
    print(f"script/pages: {browser.states} states are as they should be, {time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except Failed as failure:
        sys.exit(f"script/pages: {failure}")
