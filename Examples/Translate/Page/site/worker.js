// Keeps the page's own files, so that it opens while the program does not run. Of what somebody asked
// or got, it keeps nothing.

const cache = "translate";

const files = ["/", "/kit.css", "/kit.js", "/icon.svg", "/icon-192.png", "/translate.css",
  "/translate.js", "/gestures.js", "/history.js", "/icons.js", "/languages.js", "/listen.js",
  "/microphone.js", "/settings.js", "/talk.js", "/toasts.js", "/voice.js", "/welcome.js",
  "/words.js", "/words.de.json", "/words.en.json", "/words.es.json", "/words.fr.json",
  "/words.ja.json", "/words.zh.json", "/app.webmanifest"];

addEventListener("install", (event) => {
  event.waitUntil(caches.open(cache).then((kept) => kept.addAll(files)).then(() => skipWaiting()));
});

addEventListener("activate", (event) => event.waitUntil(clients.claim()));

addEventListener("fetch", (event) => {
  const { pathname, origin } = new URL(event.request.url);
  if (event.request.method !== "GET" || origin !== location.origin || !files.includes(pathname)) return;
  event.respondWith(answer(event, pathname));
});

/** The program's own answer always comes first: another one may be at this address by now. */
async function answer(event, pathname) {
  try {
    const response = await fetch(event.request);
    // The page waits for no disk.
    if (response.ok) event.waitUntil(keep(pathname, response.clone()));
    return response;
  } catch (error) {
    const kept = await (await caches.open(cache)).match(pathname);
    if (kept) return kept;
    throw error;
  }
}

async function keep(pathname, response) {
  const kept = await caches.open(cache);
  await kept.put(pathname, response);
}
