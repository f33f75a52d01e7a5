"""Flows of the page of `scan serve`: the camera."""

import subprocess

from browser import check
from scan_rig import eventually, opened, problems, view, within

# How long the first picture takes from the load's beginning, and each flash from the tap.
WATCH = """() => {
  const seen = { first: null, flashes: [], long: [] };
  window.seen = seen;
  document.addEventListener('playing', () => { seen.first ??= performance.now(); }, true);
  new PerformanceObserver((list) => {
    seen.long.push(...list.getEntries().map((entry) => Math.round(entry.duration)));
  }).observe({ type: 'longtask' });
  document.addEventListener('pointerdown', ({ target, timeStamp }) => {
    if (!target.closest('.shutter')) return;
    const look = () => {
      const opacity = Number(getComputedStyle(document.getElementById('flash')).opacity);
      if (opacity > 0) seen.flashes.push(Math.round(performance.now() - timeStamp));
      else requestAnimationFrame(look);
    };
    requestAnimationFrame(look);
  }, true);
}"""

# When frames come, and which are long, as Chromium tells of them.
FRAMES = """() => {
  const frames = { times: [], long: [] };
  window.frames = frames;
  const look = (time) => {
    frames.times.push(time);
    requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
  new PerformanceObserver((list) => {
    frames.long.push(...list.getEntries().map(({ duration }) => Math.round(duration)));
  }).observe({ type: 'long-animation-frame' });
}"""


def late(times):
    """Of each second of frames, the share that is later than 25 ms."""
    seconds = {}
    for before, time in zip(times, times[1:]):
        seconds.setdefault(int((time - times[0]) / 1000), []).append(time - before > 25)
    return [sum(second) / len(second) for second in list(seconds.values())[:-1]]


def takes_photos(browser, rig, server):
    """A primer before the browser asks; then the live view, and ten taps in a row that wait for nothing."""
    with browser.page(server.address, "phone-dark") as page:
        opened(page)
        page.get_by_role("heading", name="scan needs the camera").wait_for()
        browser.state(page, "primer", "phone-dark")
        page.get_by_role("button", name="Continue").click()
        page.get_by_role("heading", name="The browser lets no page use the camera").wait_for()
        browser.state(page, "denied", "phone-dark")
    rig.misbehave("pings-only")
    before = rig.query("SELECT count(*) FROM scan")[0][0]
    with browser.page("about:blank", "phone-dark") as page:
        page.context.grant_permissions(["camera"])
        page.add_init_script(f"({WATCH})()")
        page.goto(server.address)
        shutter = page.get_by_role("button", name="Take a photo")
        shutter.wait_for()
        # The first has the browser's own beginning in it, and other work of this machine may be in any.
        firsts = []
        while len(firsts) < 4 and not (firsts and min(firsts) < 500):
            page.reload()
            shutter.wait_for()
            firsts.append(round(page.evaluate("seen.first")))
        box = shutter.bounding_box()
        check((box["width"], box["height"]) == (80, 80), f"the shutter is {box}")
        page.evaluate(FRAMES)
        for _ in range(10):
            page.mouse.click(box["x"] + 40, box["y"] + 40)
            page.wait_for_timeout(200)  # real time: a person's ten taps in two seconds
        eventually(lambda: rig.query("SELECT count(*) FROM scan")[0][0] == before + 10, "ten taps are not ten photos")
        page.wait_for_timeout(3000)  # real time: of which the frames are counted
        seen, frames = page.evaluate("seen"), page.evaluate("frames")
        flashes, shares = sorted(seen["flashes"]), sorted(late(frames["times"]))
        print(f"  first picture after {firsts} ms; tap to flash {flashes} ms; long tasks {seen['long']} ms; "
              f"{len(frames['times'])} frames, late in each second {[f'{share:.0%}' for share in shares]}, "
              f"long ones {frames['long']} ms")
        check(len(flashes) == 10, f"of ten taps {len(flashes)} flash")
        within("ms to the first picture of the camera", min(firsts), 500)
        within("ms from a tap to the flash", flashes[4], 50)
        within("share of frames later than 25 ms while ten photos are in work", round(shares[len(shares) // 2], 2), 0.08)
        browser.state(page, "camera", "phone-dark")
        sizes_of_photos(rig, before)
        view(page, "Library")
        eventually(lambda: not page.evaluate("document.getElementById('video').srcObject"), "the camera stays on")
        view(page, "Photos")
        shutter.wait_for()
        for scan, in rig.query("SELECT id FROM scan ORDER BY id DESC LIMIT 10"):
            rig.change(server, "forget", f'{{"scan":{scan}}}')
        rig.misbehave("limit-seconds=10:1")
        shutter.click()
        waiting = page.get_by_role("button", name="The scan service wants a pause")
        waiting.wait_for()
        browser.state(page, "camera-pause", "phone-dark")
        count = rig.query("SELECT count(*) FROM scan")
        waiting.click(force=True)
        shutter.wait_for()
        check(rig.query("SELECT count(*) FROM scan") == count, "a photo was taken although the shutter is off")
        check(not problems(page), f"the console says {page.said}")
    with browser.page("about:blank", "desktop-light") as page:
        page.context.grant_permissions(["camera"])
        page.goto(server.address)
        page.get_by_role("button", name="Take a photo").wait_for()
        browser.state(page, "camera", "desktop-light")


def sizes_of_photos(rig, before):
    """As the page made them: at most 1920 pixels long, JPEG at 85 %."""
    paths = rig.query("SELECT path FROM grdb_tern_jobfile WHERE name = 'taken' AND job > ?", before)
    check(len(paths) > 2, f"of ten photos {len(paths)} wait")
    for path, in paths:
        said = subprocess.run(["gm", "identify", "-format", "%m %w %h %Q", rig.folder / "scan.sqlite-files" / path],
                              capture_output=True, text=True, check=True).stdout.split()
        check(said[0] == "JPEG" and max(int(said[1]), int(said[2])) <= 1920, f"a photo is {said}")
