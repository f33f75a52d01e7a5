"""Drives `scan serve`: scan_page.py SCAN RECOGNIZER TERN PICTURES."""

import base64
import pathlib
import shutil
import signal
import sys
import tempfile
import time

import scan_camera as camera
import scan_library as library
import strangers
from browser import Failed, LOOKS, MORE_LOOKS, SmallDisk, check
from scan_rig import (Chromium, PATIENCE, Rig, SHELVES, blank, choose, eventually, free_port, gone, lying, opened, photo,
                      png, problems, view)


def looks(browser, rig, server):
    """Both views in every look: pictures, and what axe-core finds."""
    rig.misbehave("pings-only")
    for look in list(LOOKS) + list(MORE_LOOKS):
        with browser.page(server.address, look) as page:
            opened(page)
            choose(page, (f"shelf-{look}.png", blank(90)), ("letter.png", b"Dear diary"))
            photo(page, f"shelf-{look}.png", "analysing")
            photo(page, "letter.png")
            browser.state(page, "photos", look)
            photo(page, f"shelf-{look}.png").click()
            page.get_by_role("button", name="Cancel the scan").wait_for()
            browser.state(page, "photo", look)
            page.get_by_role("button", name="Cancel the scan").click()
            page.get_by_role("button", name="Remove it").click()
            gone(page, f"shelf-{look}.png")
            view(page, "Library")
            page.locator(".book").first.wait_for()
            browser.state(page, "library", look)
            check(not problems(page), f"the console says {page.said}")
    rig.misbehave("")


# Each state of a photo that is shown, with its colour: it may be gone when somebody asks.
COLOURS = """() => {
  window.colours = {};
  const look = () => {
    for (const photo of document.querySelectorAll('.photo')) {
      const border = getComputedStyle(photo.querySelector('.thumb')).borderColor;
      window.colours[photo.className.replace('photo ', '')] = border;
    }
  };
  new MutationObserver(look).observe(document.getElementById('photos'),
    { subtree: true, childList: true, attributes: true });
}"""


def keeps_photos(browser, rig, server):
    """Chosen or dropped, photos become books; each state has its colour and words, and goes after five seconds."""
    with browser.page(server.address) as page:
        opened(page)
        token = server.address.split("#")[1]
        check(token not in page.url and "#" not in page.url, f"the address keeps the token: {page.url}")
        browser.state(page, "none-yet", "desktop-light")
        view(page, "Library")
        page.get_by_role("heading", name="No books yet").wait_for()
        browser.state(page, "no-books", "desktop-light")
        view(page, "Photos")
        # One that stays on its way is looked at in peace.
        rig.misbehave("pings-only")
        choose(page, ("still.png", blank(90)))
        thumb = photo(page, "still.png", "analysing").locator(".thumb")
        picture = thumb.locator("img")
        eventually(lambda: picture.count() == 1 and picture.evaluate("image => image.naturalWidth") > 0,
                   "the photo has no thumbnail")
        box = thumb.bounding_box()
        check((box["width"], box["height"]) == (40, 60), f"a thumbnail is {box}")
        photo(page, "still.png").click()
        page.get_by_role("button", name="Cancel the scan").click()
        page.get_by_role("button", name="Remove it").click()
        gone(page, "still.png")
        rig.misbehave("delay=700")
        page.evaluate(COLOURS)
        choose(page, SHELVES[0])
        eventually(lambda: page.get_by_text("shelf-a.jpg is done: 2 books").count() == 1, "nothing is said of the end")
        colours = page.evaluate("colours")
        for standing in ("uploading", "analysing", "done"):
            check(standing in colours, f"it was never {standing}: {colours}")
        check(len(set(colours.values())) == len(colours), f"states share a colour: {colours}")
        done = rig.query("SELECT unixepoch(since) FROM grdb_tern_jobs WHERE id = (SELECT max(id) FROM scan)")[0][0]
        gone(page, "shelf-a.jpg")
        stayed = time.time() - done
        check(5 <= stayed < 30, f"a photo that is done stays {stayed:.1f} s")
        rig.misbehave("")
        drop(page, "shelf-b.jpg", SHELVES[1].read_bytes())
        photo(page, "shelf-b.jpg")
        view(page, "Library")
        page.get_by_role("heading", name="6 books").wait_for()
        check(not problems(page), f"the console says {page.said}")


def drop(page, name, content):
    page.evaluate("""([name, text]) => {
      const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
      const dataTransfer = new DataTransfer();
      dataTransfer.items.add(new File([bytes], name, { type: 'image/jpeg' }));
      for (const kind of ['dragenter', 'dragover', 'drop']) {
        document.querySelector('.finder').dispatchEvent(
          new DragEvent(kind, { dataTransfer, bubbles: true, cancelable: true }));
      }
    }""", [name, base64.b64encode(content).decode()])


def turns_photos(browser, rig, server):
    """A photo that was taken with the phone on its side stands upright, as the page and as the program have it."""
    def shape(pictures):
        return pictures.first.evaluate("(item) => item.decode().then(() => [item.naturalWidth, item.naturalHeight])")
    with browser.page(server.address, "phone-dark") as page:
        opened(page)
        rig.service.end(signal.SIGKILL)
        choose(page, lying(rig.folder / "lying.jpg"))
        waiting = photo(page, "lying.jpg", "waiting")
        check(shape(waiting.locator("img")) == [40, 120], f"its small picture is {shape(waiting.locator('img'))}")
        # Now the program's own picture is the only one.
        page.reload()
        photo(page, "lying.jpg", "waiting").click()
        check(shape(page.locator("img.large")) == [40, 120], f"the program's is {shape(page.locator('img.large'))}")
        page.get_by_role("button", name="Close").click()
        rig.begin_service()
        photo(page, "lying.jpg", "done")


def refuses(browser, rig, server):
    """What is no photo is refused with the reason, and nothing of it is kept."""
    scans = rig.query("SELECT count(*) FROM scan")
    large = rig.folder / "large.jpg"
    with large.open("wb") as file:
        file.truncate(51 << 20)
    cases = [
        (("letter.jpg", b"Dear diary"), "letter.jpg is no JPEG or PNG picture, whatever its name says"),
        (("empty.png", b""), "empty.png is empty; copy it again"),
        (("wide.png", png(20_000, 10_000)), "wide.png is 20000 × 10000; at most 100 megapixels"),
        (large, "large.jpg has 53.5 MB, more than 52.4 MB; make it smaller"),
    ]
    with browser.page(server.address, "phone-dark") as page:
        opened(page)
        for file, words in cases:
            choose(page, file)
            name = file.name if isinstance(file, pathlib.Path) else file[0]
            photo(page, name).click()
            page.get_by_text(words).wait_for()
            if name == "wide.png":
                browser.state(page, "refused", "phone-dark")
            page.get_by_role("button", name="Remove it").click()
            gone(page, name)
    # What a page would not send, the program refuses as well.
    port = int(server.address.split("/#")[0].rsplit(":", 1)[1])
    head = {"Authorization": f"Bearer {server.address.split('#')[1]}", "Host": f"127.0.0.1:{port}",
            "Content-Type": "application/octet-stream"}
    status, text, _ = strangers.request(port, "/api/photos", "POST", head, b"\0" * (53 << 20))
    check(status == 413 and "more than 50 MB" in text, f"53 MB are answered {status}: {text}")
    status, text, _ = strangers.request(port, "/api/photos", "POST", {**head, "Content-Type": "image/png"}, b"1")
    check(status == 415, f"another type is answered {status}: {text}")
    check(rig.query("SELECT count(*) FROM scan") == scans, "a refused photo is kept")
    left = list(rig.way.glob("tern-page-*"))
    check(not left, f"uploads are left behind: {left}")


def fails_and_is_retried(browser, rig, server):
    """A photo that can't be prepared is red, with the reason; it is tried again, and removed."""
    with browser.page(server.address) as page:
        opened(page)
        choose(page, ("damaged.png", png(64, 48)))
        photo(page, "damaged.png", "failed").click()
        page.get_by_text("the photo can't be prepared").first.wait_for()
        browser.state(page, "failed", "desktop-light")
        page.get_by_role("button", name="Try again").click()
        starts = "SELECT starts FROM grdb_tern_jobs WHERE id = (SELECT id FROM scan WHERE name = 'damaged.png')"
        eventually(lambda: rig.query(starts)[0][0] > 1, "the photo was not tried again")
        page.get_by_role("button", name="Remove the photo").click()
        browser.state(page, "sure", "desktop-light")
        page.get_by_role("button", name="Keep it").click()
        page.get_by_role("button", name="Remove the photo").click()
        page.get_by_role("button", name="Remove it").click()
        gone(page, "damaged.png")
        check(rig.query("SELECT count(*) FROM scan WHERE name = 'damaged.png'") == [(0,)], "the photo is kept")


def waits_for_the_service(browser, rig, server):
    """Without the service: OFFLINE, grey, and on by itself. With a 429: a countdown, and on by itself."""
    with browser.page(server.address, "phone-dark") as page:
        opened(page)
        rig.service.end(signal.SIGKILL)
        choose(page, ("away.png", blank(30)))
        page.get_by_text("OFFLINE").wait_for()
        grey = photo(page, "away.png", "waiting").locator(".thumb").evaluate("item => getComputedStyle(item).borderColor")
        check(grey == "rgb(154, 154, 154)", f"a photo that waits is {grey}")
        browser.state(page, "offline", "phone-dark")
        rig.begin_service()
        photo(page, "away.png", "done")
        check(page.get_by_text("OFFLINE").count() == 0, "OFFLINE stays")
        rig.misbehave("limit-seconds=10:1")
        choose(page, ("later.png", blank(60)))
        clock = page.get_by_role("timer").locator("time")
        before = clock.inner_text()
        browser.state(page, "pause", "phone-dark")
        eventually(lambda: clock.inner_text() != before, "the countdown stands still")
        photo(page, "later.png", "done")
        check(page.get_by_role("timer").count() == 0, "the countdown stays")
        check(int(page.get_by_text("Left today").locator("strong").inner_text()) < 200, "no quota is shown")


def fills_the_disk(browser, rig, server):
    """Without room photos stay with the browser, and the page says why; with room each is saved, once."""
    if not SmallDisk.is_allowed():
        return browser.leave_out("fills_the_disk", "the system lets nobody mount a disk of its own")
    # What is on its way stands on the same disk, or on one that has room.
    for name, isBeside, words in (("beside", True, "No space left on device"), ("away", False, "the disk is full")):
        disk = SmallDisk(rig.folder / name, 8)
        place = {"port": free_port(), "before": (*disk.enter, "env", f"TMPDIR={disk.folder if isBeside else rig.way}")}
        data = ("--data", disk.folder / "scan.sqlite")
        small = rig.serve(*data, **place)
        with browser.page(small.address, "phone-light") as page:
            opened(page)
            if not isBeside:
                page.evaluate("() => { IDBObjectStore.prototype.put = () => { throw new Error('no room'); }; }")
            disk.fill()
            choose(page, ("one.png", blank(90)), ("letter.png", b"Dear diary"), ("two.png", blank(120)))
            notice = page.locator(".notice").get_by_text("The program can't save photos")
            notice.wait_for()
            eventually(lambda: "can't save photos" in page.locator("#said").inner_text(), "nobody hears of it")
            photo(page, "two.png", "to be saved").click()
            page.locator("#sheet").get_by_text(words).wait_for()
            where = "The photo is kept here" if isBeside else "leave the page open"
            page.locator("#sheet").get_by_text(where).wait_for()
            browser.state(page, f"disk-full-{name}", "phone-light")
            page.get_by_role("button", name="Close").click()
            if isBeside:
                page.reload()
                photo(page, "two.png", "to be saved")
                notice.wait_for()
            disk.empty()
            for saved in ("one.png", "two.png"):
                photo(page, saved, "done")
            photo(page, "letter.png", "refused")
            notice.wait_for(state="detached")
            # The disk is filled while a photo is scanned: that ends the program, and costs nothing.
            rig.misbehave("delay=700")
            choose(page, ("three.png", blank(150)))
            photo(page, "three.png", "analysing")
            disk.fill()
            status = small.child.wait(timeout=PATIENCE)
            check(status == 74, f"the full disk ended the program with {status}: {small.lines}")
            page.get_by_text("Start the program with: scan serve").wait_for()
            rig.misbehave("")
            disk.empty()
            small = rig.serve(*data, **place)
            photo(page, "three.png", "done")
        small.end()
        status = rig.start(*disk.enter, rig.scan, "status", *data)
        status.child.wait(timeout=PATIENCE)
        status.reader.join(timeout=5)
        wanted = [f"done\t{number}.png\t0 books" for number in ("one", "two", "three")]
        check(sorted(status.lines[:-1]) == sorted(wanted), f"not each was saved once: {status.lines}")
        disk.end()


def forgets_what_is_sent(browser, rig, server):
    """One that is forgotten while it is sent is not saved, and those beside it are."""
    with browser.page(server.address) as page:
        opened(page)
        held = []
        page.route("**/api/photos*", lambda route: held.append(route) if "first" in route.request.url else route.continue_())
        choose(page, ("first.png", blank(91)))
        eventually(lambda: page.wait_for_timeout(20) or held, "nothing is sent")
        choose(page, ("last.png", blank(92)))
        photo(page, "first.png", "to be saved").click()
        page.get_by_role("button", name="Forget the photo").click()
        gone(page, "first.png")
        photo(page, "last.png", "to be saved")
        held[0].continue_()
        photo(page, "last.png", "done")
        eventually(lambda: rig.query("SELECT count(*) FROM scan WHERE name = 'first.png'") == [(0,)], "it is saved")
        check(rig.query("SELECT count(*) FROM scan WHERE name = 'last.png'") == [(1,)], "the other is not")


def locked():
    """The numbers of the files that somebody has locked."""
    lines = pathlib.Path("/proc/locks").read_text().splitlines()
    return {int(line.split()[5 if "->" not in line else 6].rsplit(":", 1)[1]) for line in lines}


def beside_another(rig):
    """Where another program works on the file there is no page, and nobody is told of one."""
    page = rig.begin_page()
    page.child.wait(timeout=PATIENCE)
    page.reader.join(timeout=5)
    check(page.child.returncode == 75 and "another worker works" in page.lines[-1],
          f"beside another a page ended with {page.child.returncode}: {page.lines}")
    check("the page is at" not in " ".join(page.lines), f"beside another a page is told of: {page.lines}")


def outlives_the_program(browser, rig, server):
    """Killed and started again it has the address it had; the page goes on, with what was chosen meanwhile."""
    mode = (rig.folder / "scan.sqlite.page-token").stat().st_mode & 0o777
    check(mode == 0o600, f"others may read the token: {mode:o}")
    beside_another(rig)
    with browser.page(server.address) as page:
        opened(page)
        server.end(signal.SIGKILL)
        page.get_by_text("OFFLINE").wait_for()
        choose(page, ("meanwhile.png", blank(120)))
        photo(page, "meanwhile.png").click()
        page.get_by_text("The photo is kept here, and saved as soon as it can be").wait_for()
        page.get_by_role("button", name="Close").click()
        browser.state(page, "program-gone", "desktop-light")
        # Beside a `run` there is no page.
        running = rig.start(rig.scan, "run", "--service", f"http://127.0.0.1:{rig.port}")
        eventually(lambda: (rig.folder / "scan.sqlite-jobs.lock").stat().st_ino in locked(), "nobody works")
        beside_another(rig)
        running.end()
        again = rig.serve()
        check(again.address == server.address, f"the page moved to {again.address}")
        gone(page, "meanwhile.png")
        check(rig.query("SELECT count(*) FROM scan WHERE name = 'meanwhile.png'") == [(1,)], "it was not kept once")
        check(page.get_by_text("OFFLINE").count() == 0, "OFFLINE stays")
        page.reload()
        opened(page)
    return again


def is_installed(browser, rig, server):
    """The page opens while the program is down, takes photos, keeps them over a reload, and saves each once."""
    with browser.page(server.address, "phone-light") as page:
        opened(page)
        page.evaluate("navigator.serviceWorker.ready.then(() => true)")
        session = page.context.new_cdp_session(page)
        manifest = session.send("Page.getAppManifest")
        check(manifest["url"].endswith("/manifest.json") and not manifest["errors"], f"the manifest: {manifest}")
        server.end(signal.SIGKILL)
        page.context.grant_permissions(["camera"])
        page.reload()
        page.get_by_text("OFFLINE").wait_for()
        page.get_by_role("button", name="Take a photo").click()
        choose(page, ("kept.png", blank(150)))
        photo(page, "kept.png", "to be saved")
        photo(page, "1.jpg", "to be saved")
        page.wait_for_timeout(500)  # real time: what has no sign of its own is on the disk by then
        page.close()
        page = page.context.new_page()
        page.goto(server.address.split("#")[0])
        photo(page, "kept.png", "to be saved")
        check(page.get_by_role("button", name="to be saved").count() == 2, "of two photos not two are kept")
        browser.state(page, "installed", "phone-light")
        view(page, "Library")
        page.get_by_text("does not answer").first.wait_for()
        view(page, "Photos")
        again = rig.serve()
        gone(page, "kept.png")
        for name in ("kept.png", "shelf % 1.jpg"):
            rows = rig.query("SELECT key FROM scan WHERE name LIKE ? AND id > (SELECT max(id) - 4 FROM scan)", name)
            check(len(rows) == 1, f"{name} was saved {len(rows)} times")
        left = page.evaluate("""() => new Promise((resolve) => {
          indexedDB.open('scan').onsuccess = ({ target }) => {
            target.result.transaction('photos').objectStore('photos').count().onsuccess =
              (event) => resolve(event.target.result);
          };
        })""")
        check(left == 0, f"{left} photos are still kept by the browser")
        cached = page.evaluate("""async () => (await (await caches.open('shell')).keys())
          .map(({ url }) => new URL(url).pathname)""")
        check("/" in cached and not [path for path in cached if path.startswith("/api")], f"the shell has {cached}")
    return again


def keys(browser, rig, server):
    """By keyboard alone: what has the focus is seen, and the order is that of the page."""
    with browser.page(server.address, "still") as page:
        opened(page)
        moving = page.evaluate("document.getAnimations().length")
        check(moving == 0, f"{moving} animations run where less motion is asked for")
        choose(page, ("letter.png", b"Dear diary"))
        photo(page, "letter.png", "refused")
        eventually(lambda: page.locator(".photo").count() == 1, "other photos stay")
        reached = []
        while len(reached) < 6:
            page.keyboard.press("Tab")
            reached.append(page.evaluate("""() => {
              const item = document.activeElement;
              const shown = item.id === 'files' ? item.closest('label') : item;
              return `${item.id || item.textContent.trim()} ${getComputedStyle(shown).outlineWidth}`;
            }"""))
        wanted = ["Skip to the content", "Photos", "Library", "Continue", "letter.png: refused", "files"]
        check(all(name.startswith(want) and name.endswith("3px") for name, want in zip(reached, wanted)),
              f"Tab goes to {reached}")
        photo(page, "letter.png").focus()
        page.keyboard.press("Enter")
        page.get_by_role("heading", name="letter.png").wait_for()
        page.keyboard.press("Escape")
        page.get_by_role("heading", name="letter.png").wait_for(state="hidden")
        page.get_by_role("navigation").get_by_role("link", name="Library").focus()
        page.keyboard.press("Enter")
        page.get_by_label("Search").wait_for()
        eventually(lambda: page.evaluate("document.activeElement.id") == "main", "a new view has not the focus")
        page.locator(".skip").focus()
        page.keyboard.press("Enter")
        check(page.evaluate("document.activeElement.id") == "main", "the skip link leads nowhere")


def strangers_stay_out(browser, rig, server):
    scan = rig.query("SELECT min(id) FROM scan")[0][0]
    strangers.stay_out(browser, server, "scan needs the camera", "photos",
                       {"read": "state", "write": "forget", "body": f'{{"scan":{scan}}}'})
    check(rig.query("SELECT count(*) FROM scan WHERE id = ?", scan) == [(1,)], "a stranger removed a photo")


def main(scan, recognizer, tern, pictures):
    began = time.monotonic()
    shutil.rmtree(pictures, ignore_errors=True)
    with tempfile.TemporaryDirectory() as folder:
        rig = Rig(scan, recognizer, tern, folder)
        try:
            with Chromium(pictures, "--host-resolver-rules=MAP stranger.test 127.0.0.1",
                         "--use-fake-device-for-media-stream") as browser:
                server = rig.serve()
                for flow in (keeps_photos, turns_photos, refuses, fails_and_is_retried, fills_the_disk,
                             forgets_what_is_sent, waits_for_the_service,
                             outlives_the_program, library.shows_the_library, library.puts_books_right,
                             library.shows_covers, library.shows_both_versions,
                             library.has_menus, camera.takes_photos, camera.zooms, camera.focuses, camera.pauses, is_installed,
                             library.keeps_pace, looks, keys, strangers_stay_out):
                    server = browser.run(flow, rig, server) or server
                server.end()
                check(server.child.returncode == 0, f"SIGTERM ended the page with {server.child.returncode}")
                token = server.address.split("#")[1]
                spoken = [line for line in server.lines if token in line]
                check(len(spoken) == 1, f"scan said the token more than once: {spoken}")
        finally:
            rig.end()
    for problem in browser.found:
        print(problem)
    check(not browser.found, f"{len(browser.found)} problems in {browser.states} states")
    print("; ".join([f"script/pages: {browser.states} states of scan serve are as they should be, "
                     f"{time.monotonic() - began:.0f} s", *browser.left_out]))


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except Failed as failure:
        sys.exit(f"script/pages: {failure}")
