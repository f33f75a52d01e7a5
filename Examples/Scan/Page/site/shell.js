// The page's own files while the program is down. What the program answers is never kept.

const FILES = ["/", "/kit.css", "/kit.js", "/scan.css", "/scan.js", "/book.js", "/camera.js",
  "/finder.js", "/lens.js", "/library.js", "/menu.js", "/outbox.js", "/photos.js", "/shrink.js",
  "/store.js", "/wing.svg", "/manifest.json"];

addEventListener("install", (event) => {
  event.waitUntil(caches.open("shell").then((shell) => shell.addAll(FILES))
    .then(() => skipWaiting()));
});

addEventListener("activate", (event) => event.waitUntil(clients.claim()));

addEventListener("fetch", (event) => {
  const { origin, pathname } = new URL(event.request.url);
  if (event.request.method !== "GET" || origin !== location.origin) return;
  if (pathname.startsWith("/api/")) return;
  event.respondWith(answer(event, pathname));
});

/** The program's own while it answers, so that a newer program shows its own page. */
async function answer(event, path) {
  try {
    const response = await fetch(event.request);
    // The page waits for no disk.
    if (response.ok && FILES.includes(path)) event.waitUntil(keep(path, response.clone()));
    return response;
  } catch {
    return await (await caches.open("shell")).match(path) ?? Response.error();
  }
}

async function keep(path, response) {
  const shell = await caches.open("shell");
  await shell.put(path, response);
}
