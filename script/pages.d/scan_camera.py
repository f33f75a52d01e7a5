"""Flows of the page of `scan serve`: the camera."""

import base64
import contextlib
import subprocess

from browser import LOOKS, MORE_LOOKS, check
from scan_rig import SLACK, Touch, eventually, opened, problems, view, within

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


def middle(values):
    """Or one of the least, where others hold up most."""
    return sorted(values)[(len(values) - 1) // (2 if SLACK == 1 else 5)]


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
        most = 0.08
        for _ in range(6):
            page.wait_for_timeout(3000)  # real time: of which the frames are counted
            frames = page.evaluate("frames")
            if middle(late(frames["times"])) <= most * SLACK:
                break
        seen = page.evaluate("seen")
        flashes, shares = sorted(seen["flashes"]), sorted(late(frames["times"]))
        print(f"  first picture after {firsts} ms; tap to flash {flashes} ms; long tasks {seen['long']} ms; "
              f"{len(frames['times'])} frames, late in each second {[f'{share:.0%}' for share in shares]}, "
              f"long ones {frames['long']} ms")
        check(len(flashes) == 10, f"of ten taps {len(flashes)} flash")
        within("ms to the first picture of the camera", min(firsts), 500)
        within("ms from a tap to the flash", middle(flashes), 50)
        within("share of frames later than 25 ms while ten photos are in work", round(middle(shares), 2), most)
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


@contextlib.contextmanager
def live(browser, server, look="phone-dark", script=None):
    """A page whose camera is on."""
    with browser.page("about:blank", look) as page:
        page.context.grant_permissions(["camera"])
        if script:
            page.add_init_script(script)
        page.goto(server.address)
        page.get_by_role("button", name="Take a photo").wait_for()
        yield page


# Photos as they are sent.
SENT = """(() => {
  window.sent = [];
  const { fetch } = window;
  window.fetch = (address, options) => {
    if (String(address).startsWith('/api/photos')) window.sent.push(options.body);
    return fetch(address, options);
  };
})()"""


def taken(page, rig):
    """A photo, as it is sent: the program makes large ones smaller."""
    before = page.evaluate("sent.length")
    page.get_by_role("button", name="Take a photo").click()
    eventually(lambda: page.evaluate("sent.length") > before, "a photo is not sent")
    text = page.evaluate("""async () => {
      let text = '';
      for (const byte of new Uint8Array(await sent.at(-1).arrayBuffer())) text += String.fromCharCode(byte);
      return btoa(text);
    }""")
    file = rig.folder / "sent.jpg"
    file.write_bytes(base64.b64decode(text))
    return file


def size(picture):
    said = subprocess.run(["gm", "identify", "-format", "%w %h", picture], capture_output=True, text=True, check=True)
    return tuple(int(number) for number in said.stdout.split())


def near(page):
    """How near the page says that the camera is, and how much it enlarges the picture itself."""
    return (float(page.get_by_label("Zoom").input_value()),
            float(page.evaluate("document.getElementById('video').style.scale") or 1))


def zooms(browser, rig, server):
    """By slider, wheel and two fingers; what is enlarged is cropped in the photo; a camera's own zoom goes first."""
    rig.misbehave("pings-only")
    with live(browser, server, script=SENT) as page:
        check(near(page) == (1, 1), f"it begins at {near(page)}")
        check(size(taken(page, rig)) == (1920, 1080), "a photo that is not zoomed is cropped")
        slider = page.get_by_label("Zoom")
        slider.focus()
        for _ in range(10):
            page.keyboard.press("ArrowRight")
        check(near(page) == (2, 2), f"ten keys lead to {near(page)}")
        page.get_by_text("2.0×").wait_for()
        page.mouse.move(200, 300)
        page.mouse.wheel(0, -200)
        eventually(lambda: near(page)[0] > 2.5, "the wheel does not zoom")
        page.mouse.wheel(0, 2000)
        eventually(lambda: near(page) == (1, 1), "the wheel does not lead back")
        fingers = Touch(page)
        fingers.send("touchStart", (150, 300), (250, 300))
        for step in range(1, 6):
            fingers.send("touchMove", (150 - 10 * step, 300), (250 + 10 * step, 300))
        fingers.send("touchEnd")
        eventually(lambda: near(page) == (2, 2), f"two fingers lead to {near(page)}")
        browser.state(page, "zoomed", "phone-dark")
        same_as_shown(page, rig)
        # An older browser has no frames of videos.
        page.evaluate("delete globalThis.VideoFrame")
        same_as_shown(page, rig)
        for key, end in (("End", 4), ("Home", 1)):
            slider.press(key)
            eventually(lambda: near(page) == (end, end), f"{key} leads to {near(page)}")
        check(page.get_by_role("button", name="Focus").count() == 0, "a camera that can't be told where, focuses")
        page.mouse.click(200, 300)
        check(page.evaluate("document.getAnimations().length") <= 1, "a place is marked where nothing focuses")
        check(not problems(page), f"the console says {page.said}")
    own_zoom(browser, rig, server)
    for look in [*LOOKS, *MORE_LOOKS]:
        with live(browser, server, look) as page:
            browser.state(page, "finder", look)
    for scan, in rig.query("SELECT id FROM scan ORDER BY id DESC LIMIT 4"):
        rig.change(server, "forget", f'{{"scan":{scan}}}')
    rig.misbehave("")


def same_as_shown(page, rig):
    """The photo is what the window shows of the picture, which stands still for it."""
    page.evaluate("document.getElementById('video').pause()")
    shown, small = rig.folder / "shown.png", rig.folder / "small.png"
    hide = "(what) => document.querySelectorAll('body > :not(#finder)').forEach((one) => { one.style.visibility = what; })"
    page.evaluate(hide, "hidden")
    page.screenshot(path=shown)
    page.evaluate(hide, "")
    photo = taken(page, rig)
    check(size(photo) == (250, 540), f"of 1920 x 1080, zoomed twice, a window of 390 x 844 shows {size(photo)}")
    subprocess.run(["gm", "convert", photo, "-resize", "390x844!", small], check=True)
    said = subprocess.run(["gm", "compare", "-metric", "MAE", shown, small], capture_output=True, text=True).stdout
    total = float(next(line for line in said.splitlines() if "Total" in line).split()[1])
    check(total < 0.02, f"the photo differs from what is shown: {said}")
    page.evaluate("document.getElementById('video').play()")


def own_zoom(browser, rig, server):
    """Chromium's camera has a zoom, for whoever may use it: then the picture is as the camera gives it."""
    with browser.page("about:blank", "desktop-light") as page:
        session = page.context.new_cdp_session(page)
        context = session.send("Target.getTargetInfo")["targetInfo"]["browserContextId"]
        browser.chromium.new_browser_cdp_session().send("Browser.grantPermissions", {
            "permissions": ["videoCapture", "cameraPanTiltZoom"], "browserContextId": context,
            "origin": server.address.split("/#")[0]})
        page.add_init_script(SENT)
        page.goto(server.address)
        page.get_by_role("button", name="Take a photo").wait_for()
        own = """document.getElementById('video').srcObject.getVideoTracks()[0].getSettings().zoom
          / document.getElementById('video').srcObject.getVideoTracks()[0].getCapabilities().zoom.min"""
        slider = page.get_by_label("Zoom")
        slider.focus()
        for _ in range(15):
            page.keyboard.press("ArrowRight")
        eventually(lambda: page.evaluate(own) == 2.5, f"the camera zooms {page.evaluate(own)} times")
        check(near(page) == (2.5, 1), f"a camera with a zoom is at {near(page)}")
        check(size(taken(page, rig)) == (1920, 1080), "the picture of a camera with a zoom is cropped")
        view(page, "Library")
        view(page, "Photos")
        page.get_by_role("button", name="Take a photo").wait_for()
        eventually(lambda: page.evaluate(own) == 2.5, "the zoom is gone after a rest")


# A camera that can be told where to focus. Chromium's can't.
FOCUSES = """(() => {
  window.asked = [];
  const { getCapabilities } = MediaStreamTrack.prototype;
  MediaStreamTrack.prototype.getCapabilities = function () {
    return { ...getCapabilities.call(this), focusMode: ['continuous', 'single-shot'] };
  };
  MediaStreamTrack.prototype.applyConstraints = async (constraints) => {
    window.asked.push(constraints);
    if (window.asked.length > 3) throw new Error('it is broken');
  };
})()"""


def focuses(browser, rig, server):
    """A tap tells the camera where, also while it is zoomed; so does a button; a failure is told of."""
    with live(browser, server, script=FOCUSES) as page:
        point = "asked.at(-1).advanced[0].pointsOfInterest[0]"

        def told(number, x, y):
            eventually(lambda: page.evaluate("asked.length") == number, "the camera is not told where to focus")
            place = page.evaluate(point)
            check(abs(place["x"] - x) < 0.001 and abs(place["y"] - y) < 0.001, f"it focuses on {place}, not {x}, {y}")

        # The window shows the middle of a picture that is 844 high, and 844 * 16 / 9 wide.
        page.mouse.click(290, 211)
        told(1, 0.5 + 95 / (844 * 16 / 9), 0.25)
        check(page.evaluate("Number(getComputedStyle(document.getElementById('mark')).opacity)") > 0, "no place is marked")
        page.get_by_label("Zoom").press("End")
        page.mouse.click(290, 211)
        told(2, 0.5 + 95 / 4 / (844 * 16 / 9), 0.5 - 0.25 / 4)
        page.get_by_role("button", name="Focus").press("Enter")
        told(3, 0.5, 0.5)
        page.evaluate("document.getElementById('mark').getAnimations().forEach((one) => one.pause())")
        browser.picture(page, "focus-phone-dark")
        page.evaluate("document.getElementById('mark').getAnimations().forEach((one) => one.play())")
        # A finger that moved has not tapped.
        page.mouse.move(200, 300)
        page.mouse.down()
        page.mouse.move(240, 300)
        page.mouse.up()
        check(page.evaluate("asked.length") == 3, "a finger that moved has focused")
        page.mouse.click(200, 300)
        page.get_by_text("The camera can't focus there: it is broken").last.wait_for()
        browser.state(page, "focus-failed", "phone-dark")


def pauses(browser, rig, server):
    """After 30 s without use the camera is off, and the page says so over the last picture; a key or a tap goes on."""
    with browser.page("about:blank", "phone-dark") as page:
        page.context.grant_permissions(["camera"])
        page.clock.install()
        page.goto(server.address)
        shutter = page.get_by_role("button", name="Take a photo")
        shutter.wait_for()
        paused = page.get_by_role("heading", name="The camera is paused")
        tracks = "document.getElementById('video').srcObject.getTracks().map((track) => track.readyState)"
        # Whoever uses the page meanwhile has more time.
        for _ in range(2):
            page.clock.fast_forward(20_000)
            page.keyboard.press("Shift")
        page.clock.run_for(2_000)
        check(paused.count() == 0 and page.evaluate(tracks) == ["live"], "the camera pauses while it is used")
        shutter.focus()
        page.clock.fast_forward(31_000)
        paused.wait_for()
        check(page.evaluate(tracks) == ["ended"], f"the camera is {page.evaluate(tracks)}")
        page.locator("#said").get_by_text("The camera is paused").wait_for()
        check(page.evaluate(PICTURE) > 0, "the last picture is gone")
        browser.state(page, "paused", "phone-dark")
        count = rig.query("SELECT count(*) FROM scan")
        page.keyboard.press("Enter")
        shutter.wait_for()
        check(page.evaluate("document.activeElement.classList.contains('shutter')"), "the focus went")
        check(page.evaluate(tracks) == ["live"], "the camera is not live again")
        check(rig.query("SELECT count(*) FROM scan") == count, "the key that wakes the camera took a photo")
        page.clock.fast_forward(31_000)
        paused.wait_for()
        page.mouse.click(200, 200)
        shutter.wait_for()
        # From a view without the camera it comes back live.
        page.clock.fast_forward(31_000)
        paused.wait_for()
        view(page, "Library")
        view(page, "Photos")
        shutter.wait_for()
        check(not problems(page), f"the console says {page.said}")
    with browser.page("about:blank", "desktop-light") as page:
        page.context.grant_permissions(["camera"])
        page.clock.install()
        page.goto(server.address)
        page.get_by_role("button", name="Take a photo").wait_for()
        page.clock.fast_forward(31_000)
        page.get_by_role("button", name="Go on", exact=True).wait_for()
        browser.state(page, "paused", "desktop-light")


# How bright the picture is that the video shows, in the middle of it.
PICTURE = """() => {
  const canvas = new OffscreenCanvas(1, 1);
  const context = canvas.getContext('2d');
  context.drawImage(document.getElementById('video'), 0, 0, 1, 1);
  const [red, green, blue] = context.getImageData(0, 0, 1, 1).data;
  return red + green + blue;
}"""


def sizes_of_photos(rig, before):
    """As the page made them: at most 1920 pixels long, JPEG at 85 %."""
    paths = rig.query("SELECT path FROM grdb_tern_jobfile WHERE name = 'taken' AND job > ?", before)
    check(len(paths) > 2, f"of ten photos {len(paths)} wait")
    for path, in paths:
        said = subprocess.run(["gm", "identify", "-format", "%m %w %h %Q", rig.folder / "scan.sqlite-files" / path],
                              capture_output=True, text=True, check=True).stdout.split()
        check(said[0] == "JPEG" and max(int(said[1]), int(said[2])) <= 1920, f"a photo is {said}")
