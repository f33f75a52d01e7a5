"""Other sites in the same browser, and other programs, that try to read or change what a page shows."""

import http.client
import http.server
import threading

from browser import check

# A site of its own, which has guessed where the page is, and even has its token where `token` is set.
ATTACK = """async ({ target, token, read, write, body }) => {
  const outcome = {};
  const headers = token ? { Authorization: `Bearer ${token}` } : {};
  const attempt = async (name, work) => {
    try { outcome[name] = await work(); } catch { outcome[name] = 'refused'; }
  };
  await attempt('read', async () => (await fetch(`${target}/api/${read}`, { headers })).text());
  await attempt('blind', async () =>
    (await fetch(`${target}/api/${read}`, { mode: 'no-cors' })).type);
  await attempt('page', async () => (await fetch(`${target}/`)).text());
  await attempt('write', async () => (await fetch(`${target}/api/${write}`, { method: 'POST', body,
    headers: { ...headers, 'Content-Type': 'application/json' } })).text());
  await attempt('plain', async () => (await fetch(`${target}/api/${write}`, { method: 'POST', mode: 'no-cors',
    credentials: 'include', body })).type);
  await attempt('module', async () => Object.keys(await import(`${target}/kit.js`)).join());
  await attempt('image', () => new Promise((resolve, reject) => {
    const image = new Image();
    image.onload = () => resolve('loaded');
    image.onerror = reject;
    image.src = `${target}/icon.svg`;
  }));
  await attempt('stream', () => new Promise((resolve, reject) => {
    const stream = new EventSource(`${target}/api/events`);
    stream.onmessage = () => resolve('told');
    stream.onerror = () => { stream.close(); reject(); };
  }));
  await attempt('frame', () => new Promise((resolve, reject) => {
    const frame = document.createElement('iframe');
    frame.src = `${target}/`;
    frame.onload = () => { try { resolve(frame.contentDocument.title); } catch { reject(); } };
    document.body.append(frame);
  }));
  return outcome;
}"""

FORM = """({ target, write, body }) => {
  document.body.innerHTML = `<form method="post" enctype="text/plain" action="${target}/api/${write}">
    <input value='"}'></form>`;
  document.forms[0].elements[0].name = body.replace('}', ',"x":"');
  document.forms[0].submit();
}"""


SVG = b'<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"></svg>'


class Site(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.answer("text/html", b"<!doctype html><title>a site</title><body>")

    def answer(self, kind, body):
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Careless(Site):
    """What a page's server must not be: every stranger gets in here, or the test would not see one."""

    KINDS = {"/kit.js": ("text/javascript", b"export const kit = 1;"), "/icon.svg": ("image/svg+xml", SVG),
             "/api/events": ("text/event-stream", b"data: changed\n\n")}

    def do_GET(self):
        self.answer(*self.KINDS.get(self.path, ("text/html", b"<title>page</title>replicas")))

    do_POST = do_GET

    def do_OPTIONS(self):
        self.answer("text/plain", b"")

    def end_headers(self):
        for name in ("Origin", "Headers"):
            self.send_header(f"Access-Control-Allow-{name}", "*" if name == "Origin" else "authorization, content-type")
        super().end_headers()


def request(port, path, method="GET", headers=None, body=None):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    connection.request(method, path, body, headers or {})
    response = connection.getresponse()
    return response.status, response.read().decode(), response.headers


def programs_are_refused(port, token, asked):
    """By what they send, token or not."""
    own, bearer = f"127.0.0.1:{port}", {"Authorization": f"Bearer {token}"}
    read, write, change = f"/api/{asked['read']}", f"/api/{asked['write']}", asked["body"]
    cases = [
        (200, read, "GET", bearer, None),
        (200, read, "GET", {**bearer, "Host": f"localhost:{port}"}, None),
        (401, read, "GET", {}, None),
        (401, read, "GET", {"Authorization": f"Bearer {token[:-1]}"}, None),
        (401, read, "GET", {"Authorization": f"Bearer {token[:-1]}x"}, None),
        (401, f"{read}?token={token}", "GET", {"Cookie": f"token={token}"}, None),
        (401, "/api/events", "GET", {}, None),
        (401, write, "POST", {"Content-Type": "application/json"}, change),
        (415, write, "POST", {**bearer, "Content-Type": "text/plain"}, change),
        (413, write, "POST", {**bearer, "Content-Type": "application/json"}, " " * 100_000),
        (421, read, "GET", {**bearer, "Host": f"stranger.test:{port}"}, None),
        (421, "/", "GET", {"Host": "stranger.test"}, None),
        (421, "/", "GET", {"Host": f"127.0.0.1.stranger.test:{port}"}, None),
        (403, read, "GET", {**bearer, "Origin": "http://stranger.test"}, None),
        (403, read, "GET", {**bearer, "Origin": "null"}, None),
        (403, read, "GET", {**bearer, "Origin": f"http://localhost:{port}"}, None),
        (403, read, "GET", {**bearer, "Sec-Fetch-Site": "cross-site"}, None),
        (403, read, "GET", {**bearer, "Sec-Fetch-Site": "same-site"}, None),
        (405, write, "PUT", bearer, None),
        (404, "/api/../kit.css", "GET", bearer, None),
        (404, "/etc/passwd", "GET", bearer, None),
    ]
    for status, path, method, headers, body in cases:
        found, text, answer = request(port, path, method, {"Host": own, **headers}, body)
        check(found == status, f"{method} {path} with {headers} is answered {found}, not {status}: {text}")
        check("access-control-allow-origin" not in answer, "another site is allowed to read")
        check("default-src 'none'" in answer["content-security-policy"], "an answer has no policy")
        check(token not in text, "an answer holds the token")


def stay_out(browser, server, heading, shows, asked):
    """`shows` is a word of what the page reads, and `asked` says by which requests it reads and changes something."""
    address, token = server.address.split("/#")
    port = int(address.rsplit(":", 1)[1])
    programs_are_refused(port, token, asked)
    site, careless = (http.server.ThreadingHTTPServer(("127.0.0.1", 0), kind) for kind in (Site, Careless))
    for each in (site, careless):
        threading.Thread(target=each.serve_forever, daemon=True).start()
    try:
        # Beside a page that is open, in the same profile.
        with browser.page(server.address) as page:
            page.get_by_role("heading", name=heading).wait_for()
            other = page.context.new_page()
            # By another port; by a name that leads here, which then is the page's own origin.
            other.goto(f"http://stranger.test:{site.server_port}")
            seen = other.evaluate(ATTACK, {**asked, "target": f"http://127.0.0.1:{careless.server_port}", "token": token})
            missed = {name for name, found in seen.items() if found == "refused"} - {"frame"}
            check(not missed, f"the test would not see a stranger's {missed}")
            for origin in (f"http://127.0.0.1:{site.server_port}", f"http://stranger.test:{site.server_port}"):
                other.goto(origin)
                for known in (None, token):
                    outcome = other.evaluate(ATTACK, {**asked, "target": address, "token": known})
                    readable = {name: found for name, found in outcome.items() if found not in ("refused", "opaque")}
                    check(not readable, f"{origin} gets {readable}")
            answer = other.goto(f"http://stranger.test:{port}/")
            check(answer.status == 421, f"under another name the page answers {answer.status}")
            outcome = other.evaluate(ATTACK, {**asked, "target": f"http://stranger.test:{port}", "token": token})
            texts = " ".join(str(found) for found in outcome.values())
            check(shows not in texts and "done" not in texts, f"DNS rebinding gets {outcome}")
            other.goto(f"http://127.0.0.1:{site.server_port}")
            with other.expect_navigation():
                other.evaluate(FORM, {**asked, "target": address})
            check("another site may not" in other.locator("body").inner_text(), "a form of another site was taken")
            stored = other.evaluate("sessionStorage.length + document.cookie.length")
            check(stored == 0, "another tab has the token")
            other.goto(f"http://127.0.0.1:{site.server_port}")
            check(other.evaluate("localStorage.length") == 0, "another site has the token")
    finally:
        site.shutdown()
        careless.shutdown()
