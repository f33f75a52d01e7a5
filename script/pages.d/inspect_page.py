"""Drives `tern inspect --serve`: inspect_page.py TERN PAGE_WRITER PICTURES."""

import contextlib
import pathlib
import shutil
import signal
import sqlite3
import sys
import tempfile
import time

import strangers
from browser import Browser, DESKTOP, Failed, LOOKS, MORE_LOOKS, Process, check, eventually

DUNE = "9780441013593"


class Rig:
    """A folder, the app that writes there, and pages on its file."""

    def __init__(self, tern, writer, folder):
        self.tern, self.folder = tern, pathlib.Path(folder)
        self.file = self.folder / "library.sqlite"
        self.app = Process(writer, folder)
        check(self.app.line() == "ready", f"the writer said {self.app.lines}")
        self.served = []

    def serve(self, file=None, *options):
        name = (file or self.file).name
        process = Process(self.tern, "inspect", "--serve", "--no-open", name, *options, folder=self.folder)
        self.served.append(process)
        line = process.line()
        check(line.startswith("tern: http://127.0.0.1:"), f"tern said {line}")
        process.address = line.removeprefix("tern: ")
        return process

    def query(self, sql):
        with contextlib.closing(sqlite3.connect(self.file, timeout=10)) as database:
            return database.execute(sql).fetchall()

    def end(self):
        for process in self.served + [self.app]:
            process.end(signal.SIGKILL)


def view(page, name, heading=None):
    page.get_by_role("navigation").get_by_role("link", name=name).click()
    page.get_by_role("link", name=name, exact=False).and_(page.locator("[aria-current=page]")).wait_for()
    if heading:
        page.get_by_role("heading", name=heading).first.wait_for()


def row_of(page, base, table, key):
    page.goto(f"{base}#/row/main/{table}/{key}")
    page.get_by_role("heading", name="History, the earliest first").wait_for()


# The flows.


def looks(browser, rig, page_server):
    """Every view in every look: pictures, and what axe-core finds."""
    base = page_server.address.split("#")[0]
    for look in list(LOOKS) + list(MORE_LOOKS):
        with browser.page(page_server.address, look) as page:
            page.get_by_role("heading", name="Replica main").wait_for()
            # Of the rarer looks the views that hold most.
            if look in LOOKS or look == "zoom-200":
                browser.state(page, "overview", look)
                view(page, "Jobs", "Closed gates")
                browser.state(page, "jobs", look)
            view(page, "Inbox", "Quarantined rows")
            browser.state(page, "inbox", look)
            row_of(page, base, "book", DUNE)
            browser.state(page, "row", look)
            if look in LOOKS:
                view(page, "Row")
                page.get_by_text("Name a row by its table").wait_for()
                browser.state(page, "row-none", look)
            check(not page.said, f"the console says {page.said}")


def shows(browser, rig, page_server):
    """What the file holds is on the page, as text; no markup of it comes alive; the address keeps no token."""
    with browser.page(page_server.address) as page:
        page.get_by_role("heading", name="Replica main").wait_for()
        token = page_server.address.split("#")[1]
        check(token not in page.url and "#" not in page.url, f"the address keeps the token: {page.url}")
        text = page.locator("main").inner_text()
        for words in ["Operations in the log", "1 displaced", "1 orphaned", "1 refused", "share/home", "this one"]:
            check(words in text, f"the overview lacks {words}: {text}")
        view(page, "Jobs", "Closed gates")
        text = page.locator("main").inner_text()
        for words in ["Dead (1)", "Parked (1)", "Running (1)", "Waiting (3)", "429", "412 of 1,030"]:
            check(words in text, f"the jobs lack {words}: {text}")
        clock = page.locator("time[data-until]").first
        before = clock.inner_text()
        eventually(lambda: clock.inner_text() != before, "the countdown stands still")
        view(page, "Inbox", "Values that lost (3)")
        text = page.locator("main").inner_text()
        for words in ["<img src=x", "40th anniversary", "أَلْفُ", "Its place is taken", "Its parent is deleted",
                      "Its table refuses it", "Deleted, and changed elsewhere"]:
            check(words in text, f"the inbox lacks {words}: {text}")
        check(page.locator("main img").count() == 0 and page.title() != "stolen", "markup of a row came alive")
        page.get_by_role("link", name=f"Why book {DUNE}").click()
        page.get_by_role("heading", name="History, the earliest first").wait_for()
        text = page.locator("main").inner_text()
        for words in ["Inserted", "by this device", "by device a81c07d9…", "beaten, by a later write", "stands"]:
            check(words in text, f"the history lacks {words}: {text}")
        page.go_back()
        page.get_by_role("heading", name="Quarantined rows").wait_for()
        page.goto(page.url.split("#")[0] + "#/row/main/book/none")
        page.get_by_text("It is nothing is known of it").wait_for(state="detached")
        page.get_by_label("Key").fill(DUNE)
        page.get_by_role("button", name="Show the row").click()
        page.get_by_text("Dune, 40th anniversary edition").first.wait_for()


def keys(browser, rig, page_server):
    """By keyboard alone: what has the focus is seen, and the order is that of the page."""
    with browser.page(page_server.address, "still") as page:
        page.get_by_role("heading", name="Replica main").wait_for()
        moving = page.evaluate("document.getAnimations().length")
        check(moving == 0, f"{moving} animations run where less motion is asked for")
        reached = []
        while len(reached) < 6:
            page.keyboard.press("Tab")
            name, width = page.evaluate("""() => [document.activeElement.textContent.trim(),
              getComputedStyle(document.activeElement).outlineWidth]""")
            check(width == "3px", f"the focus on {name} is not seen")
            reached.append(name.split("\n")[0])
        wanted = ["Skip to the content", "Overview", "Jobs", "Inbox", "Row"]
        check(all(name.startswith(want) for name, want in zip(reached, wanted)), f"Tab goes to {reached}")
        for _ in range(3):
            page.keyboard.press("Shift+Tab")
        page.keyboard.press("Enter")
        page.get_by_role("heading", name="Closed gates").wait_for()
        eventually(lambda: page.evaluate("document.activeElement.id") == "main", "a new view has not the focus")
        page.locator(".skip").focus()
        page.keyboard.press("Enter")
        check(page.evaluate("document.activeElement.id") == "main", "the skip link leads nowhere")
        rig.app.tell("seal")
        page.wait_for_timeout(1500)  # real time: for what would come of the news
        check(page.get_by_role("heading", name="Closed gates").is_visible(), "the skip link left the view")


def follows(browser, rig, page_server):
    """What another process writes is seen without a reload, by two readers, and the focus stays."""
    other = rig.serve()
    with browser.page(page_server.address) as page, browser.page(other.address) as second:
        for each in (page, second):
            each.get_by_role("heading", name="Replica main").wait_for()
        page.get_by_role("region", name="Tables").focus()
        for each in (page, second):
            each.shelf = each.get_by_role("row", name="book").inner_text()
        rig.app.tell("write")
        for each in (page, second):
            eventually(lambda: each.get_by_role("row", name="book").inner_text() != each.shelf,
                       "a write of the app's is not shown", 5)
        focused = page.evaluate("document.activeElement.getAttribute('aria-label')")
        check(focused == "Tables", f"the focus went to {focused}")
        rig.app.tell("seal")
        page.get_by_text("since this page was opened").and_(page.get_by_text("+")).wait_for()
        view(second, "Jobs", "Closed gates")
        check(second.get_by_role("button").count() == 0, "a read-only page has buttons")
        answer = second.evaluate(POST, ["retry", {"job": 1}])
        check(answer[0] == 409 and "--allow-changes" in answer[1], f"a read-only page took a change: {answer}")


POST = """async ([path, body]) => {
  const headers = { Authorization: `Bearer ${sessionStorage.getItem('tern-token')}`,
    'Content-Type': 'application/json' };
  const response = await fetch(`/api/${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
  return [response.status, await response.text()];
}"""


def stay_out(browser, rig, page_server):
    """Other sites can neither read nor cancel."""
    strangers.stay_out(browser, page_server, "Replica main", "replicas",
                       {"read": "overview", "write": "cancel", "body": '{"job":3}'})
    state = eventually(lambda: rig.query("SELECT state FROM grdb_tern_job WHERE id = 3"), "job 3 is gone")
    check(state == [(1,)], f"a stranger changed job 3: {state}")


def changes(browser, rig, page_server):
    """Retry, cancel and restore, by keyboard where that is harder."""
    with browser.page(page_server.address) as page:
        page.get_by_role("heading", name="Replica main").wait_for()
        view(page, "Jobs", "Closed gates")
        rig.app.tell("scanner works")
        page.get_by_role("button", name="Retry job 1, send-report").click()
        page.get_by_role("heading", name="Done (1)").wait_for()
        eventually(lambda: "Job 1 begins again." in page.locator("#said").text_content(), "the retry is not announced")
        cancel = page.get_by_role("button", name="Cancel job 3, index-shelf")
        cancel.focus()
        page.keyboard.press("Enter")
        page.get_by_role("dialog").wait_for()
        browser.state(page, "cancel", "desktop-light")
        page.keyboard.press("Escape")
        page.locator("dialog").wait_for(state="detached")
        check(page.evaluate("document.activeElement.getAttribute('aria-label')") == "Cancel job 3, index-shelf",
              "the dialog does not give the focus back")
        page.keyboard.press("Enter")
        page.get_by_role("button", name="Cancel the job").click()
        page.get_by_role("heading", name="Cancelled (1)").wait_for()
        view(page, "Inbox", "Values that lost (3)")
        page.get_by_role("button", name=f"Restore what book {DUNE} lost").click()
        page.get_by_role("heading", name="Values that lost (2)").wait_for()
        titles = rig.query(f"SELECT title FROM book WHERE isbn = '{DUNE}'")
        check(titles == [("Dune, first edition",)], f"the lost title is not back: {titles}")
        page.get_by_role("button", name="Restore what book 9780261103252 lost").click()
        page.get_by_role("heading", name="Values that lost (1)").wait_for()
        check(rig.query("SELECT author FROM book WHERE isbn = '9780261103252'") == [("Tolkien",)],
              "the deleted row is not back")
        # The app makes an operation of it, as of any other process's write.
        rig.app.tell("seal")
        row_of(page, page_server.address.split("#")[0], "book", DUNE)
        eventually(lambda: page.locator(".timeline > li").last.inner_text().count("Dune, first edition"),
                   "the restored write is in no operation")
        gone = page.evaluate(POST, ["restore", {"replica": "main", "entry": "1.0.0.0"}])
        check(gone[0] == 409 and "does not hold the entry" in gone[1], f"an entry that is gone: {gone}")


def disturbs_nothing(rig):
    """While pages follow the file an app can take it for itself, and who closes it last removes the log."""
    for server in rig.served:
        check(server.child.poll() is None, "a page has ended")
    with contextlib.closing(sqlite3.connect(rig.file, timeout=5)) as database:
        database.execute("BEGIN EXCLUSIVE")
        database.execute("ROLLBACK")
    rig.app.finish()
    check(len(rig.query("SELECT isbn FROM book")) > 4, "the books are gone")
    names = sorted(path.name for path in rig.folder.iterdir())
    check("library.sqlite-wal" not in names and "library.sqlite-shm" not in names,
          f"somebody still has the file open: {names}")


def failures(browser, rig, page_server):
    """Files that can't be shown, and what the page says then."""
    spare = rig.folder / "spare.sqlite"
    shutil.copy(rig.file, spare)
    server = rig.serve(spare)
    with browser.page(server.address) as page:
        page.get_by_role("heading", name="Replica main").wait_for()

        def says(name, words, look="desktop-light"):
            page.get_by_text(words).first.wait_for()
            browser.state(page, name, look)

        aside = rig.folder / "aside"
        spare.rename(aside)
        says("vanished", "There is no file")
        spare.write_bytes(b"nothing that SQLite reads" * 100)
        says("no-database", "is no SQLite database")
        spare.unlink()
        with contextlib.closing(sqlite3.connect(spare)) as database:
            database.execute("CREATE TABLE note (id)")
            database.commit()
        says("not-terns", "spare.sqlite holds no replica")
        spare.unlink()
        aside.rename(spare)
        eventually(lambda: page.locator(".notice").count() == 0, "the file is back, and is not shown")
        with contextlib.closing(sqlite3.connect(spare)) as database:
            database.execute("PRAGMA journal_mode = DELETE")
            database.execute("BEGIN EXCLUSIVE")
            database.execute("UPDATE book SET author = 'somebody'")
            says("locked", "is locked by another program")
            database.execute("ROLLBACK")
        eventually(lambda: page.locator(".notice").count() == 0, "the lock is gone, and the file is not shown", 15)
        with contextlib.closing(sqlite3.connect(spare)) as database:
            database.execute("UPDATE grdb_tern_jobqueue SET format = 3")
            database.commit()
        view(page, "Jobs")
        says("old-queue", "An older Tern made the job queue")
        with contextlib.closing(sqlite3.connect(spare)) as database:
            database.execute("UPDATE grdb_tern_main_replica SET format = 99")
            database.commit()
        says("newer", "was made by a newer Tern")
        server.end()
        says("gone", "does not answer")
        check(server.child.returncode == 0, f"SIGTERM ended the page with {server.child.returncode}")
        # Started again at the same port it has another token, and whoever follows its address in the same tab is let in.
        port = server.address.split("/#")[0].rsplit(":", 1)[1]
        spare.unlink()
        shutil.copy(rig.file, spare)
        again = rig.serve(spare, "--port", port)
        page.goto(again.address)
        page.get_by_role("heading", name="Replica main").wait_for()
    with browser.page(page_server.address.split("#")[0]) as page:
        page.get_by_text("Open the page by the whole address").first.wait_for()
        browser.state(page, "no-token", "desktop-light")


def picture(browser, rig, page_server):
    """For README."""
    with browser.page(page_server.address, "desktop-light") as page:
        view(page, "Inbox", "Quarantined rows")
        page.set_viewport_size({"width": DESKTOP["width"] - 120, "height": 640})
        browser.picture(page, "readme")


def main(tern, writer, pictures):
    began = time.monotonic()
    shutil.rmtree(pictures, ignore_errors=True)
    with tempfile.TemporaryDirectory() as folder:
        rig = Rig(tern, writer, folder)
        try:
            with Browser(pictures, "--host-resolver-rules=MAP stranger.test 127.0.0.1") as browser:
                server = rig.serve(None, "--allow-changes")
                for flow in (shows, looks, picture, keys, follows, stay_out, changes):
                    browser.run(flow, rig, server)
                with browser.page(server.address) as page:
                    page.get_by_role("heading", name="Replica main").wait_for()
                    disturbs_nothing(rig)
                browser.run(failures, rig, server)
                for process in rig.served:
                    process.end()
                    token = process.address.split("#")[1]
                    spoken = [line for line in process.lines if token in line]
                    check(len(process.lines) == len(spoken) == 1, f"tern said {process.lines}")
        finally:
            rig.end()
    for problem in browser.found:
        print(problem)
    check(not browser.found, f"{len(browser.found)} problems in {browser.states} states")
    print(f"script/pages: {browser.states} states are as they should be, {time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except Failed as failure:
        sys.exit(f"script/pages: {failure}")
