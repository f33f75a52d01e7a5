// The page of `scan serve`: asks the program, shows its answers, and follows its database.

import { announce, bytes, confirmed, countdown, h, morph, Program, Refusal, several,
  tick } from "/kit.js";
import { book } from "/book.js";
import { Camera, Darkroom } from "/camera.js";
import { finder, watchLens } from "/finder.js";
import { fill, library } from "/library.js";
import { watchMenu } from "/menu.js";
import { Outbox } from "/outbox.js";
import { counts, detail, isShown, itemDetail, strip } from "/photos.js";

// The program keeps its address, and so does the browser.
const program = new Program(localStorage);
const part = (id) => document.getElementById(id);
const [main, sheet] = [part("main"), part("sheet")];

const views = [["capture", "Photos"], ["library", "Library"]];

/** How many books are shown at once: of those that are looked for while somebody types, a screen. */
const [SCREEN, SOME] = [32, 100];

const state = {
  file: null, books: null, asked: { text: "", order: "added", review: false, limit: SOME },
  failure: null, isLive: false,
  // What lies over the page, and what is said at its foot.
  open: null, toast: null,
};

// The view is in the address, so that the browser's own way back works.
const view = () => (location.hash.startsWith("#/library") ? "library" : "capture");

// Asking.

async function ask(isAll) {
  const file = isAll ? await program.get("state") : state.file;
  const asked = { ...state.asked };
  const query = { text: asked.text, order: asked.order, limit: asked.limit };
  if (asked.review) query.review = "yes";
  const books = view() === "library" ? await program.get("books", query) : state.books;
  if (state.open?.isbn) await askOfBook(state.open);
  const before = state.file?.photos ?? [];
  tellOf(before, file.photos);
  forgetPreviews(before, file.photos);
  Object.assign(state, { file, books, failure: null });
}

async function askOfBook(open) {
  try {
    open.found = await program.get("book", { isbn: open.isbn });
  } catch (error) {
    // Another device may have deleted it.
    if (error.code !== "none") throw error;
    if (state.open === open) state.open = null;
    say(error.message);
  }
}

/** Says what became of photos to whoever does not look. */
function tellOf(before, now) {
  const known = new Map(before.map((photo) => [photo.id, photo.standing]));
  for (const photo of now) {
    const { id, name, standing, news } = photo;
    if (!known.has(id) || known.get(id) === standing) continue;
    if (standing === "done") {
      announce(`${name} is done: ${counts(photo)}`);
      navigator.vibrate?.([20, 60, 20]);
    }
    if (standing === "failed") {
      announce(`${name} failed: ${news}`);
      navigator.vibrate?.(200);
    }
  }
}

// `stale` is what may be another by now: `all`, or only the `books` that are looked for.
let [isAsking, stale, again] = [false, null, 0];

/** One question at a time. */
async function refresh(what = "all") {
  if (stale !== "all") stale = what;
  if (isAsking) return;
  isAsking = true;
  try {
    while (stale) {
      const isAll = stale === "all";
      stale = null;
      await askOnce(isAll);
    }
  } finally {
    isAsking = false;
  }
  // What failed is asked again without news.
  clearTimeout(again);
  if (state.failure) again = setTimeout(refresh, 2000);
}

async function askOnce(isAll) {
  const failed = state.failure?.message;
  try {
    await ask(isAll);
    if (failed) announce("The program answers again.");
    outbox.send();
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    state.failure = error;
    if (failed !== error.message) announce(error.message);
  }
  show();
  fetchPreviews();
  fetchCovers();
}

// The photos' pictures.

const previews = new Map();
let isFetching = false;

async function fetchPreviews() {
  if (isFetching) return;
  isFetching = true;
  const wanted = () => state.file?.photos.find(({ id }) => !previews.has(id));
  for (let photo = wanted(); photo; photo = wanted()) {
    const scan = photo.id;
    // One that has none is asked for once.
    previews.set(scan, null);
    try {
      const picture = await program.blob("preview", { scan });
      if (picture.size) previews.set(scan, URL.createObjectURL(picture));
      showSoon();
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      if (error.status === 0) {
        previews.delete(scan);
        break;
      }
    }
  }
  isFetching = false;
}

function forgetPreviews(before, now) {
  const kept = new Set(now.map(({ id }) => id));
  for (const { id } of before.filter((photo) => !kept.has(photo.id))) {
    if (previews.get(id)) URL.revokeObjectURL(previews.get(id));
    previews.delete(id);
  }
}

// The books' covers, by the addresses that the service gave.

const covers = new Map();
let covering = 0;

/** Of the books that are listed, in their order. A browser has six connections to a program, and the
 * stream of news, a photo's picture, a photo that is sent, and what is asked for need one each. So two
 * covers that are slow keep nothing but other covers. */
function fetchCovers() {
  forgetCovers();
  for (; covering < 2; covering += 1) {
    // It is counted no more when it asks anew, which may begin another one. What came takes room.
    fetchSomeCovers().finally(() => { covering -= 1; }).then((isNew) => isNew && refresh());
  }
}

async function fetchSomeCovers() {
  const wanted = () => view() === "library"
    && state.books?.books.find(({ coverURL }) => coverURL && !covers.has(coverURL));
  let isNew = false;
  for (let found = wanted(); found; found = wanted()) {
    const { coverURL, isbn } = found;
    // One that is none is asked for once.
    covers.set(coverURL, null);
    try {
      const picture = await program.blob("cover", { isbn });
      if (picture.size) covers.set(coverURL, URL.createObjectURL(picture));
      isNew ||= picture.size > 0;
      showSoon();
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      // Another time it may be there, and others may be there now.
      if (error.passes) setTimeout(() => covers.delete(coverURL), 30_000);
    }
  }
  return isNew;
}

/** Only what is listed is kept. */
function forgetCovers() {
  const listed = new Set(state.books?.books.map(({ coverURL }) => coverURL));
  for (const [address, picture] of covers) {
    if (listed.has(address)) continue;
    if (picture) URL.revokeObjectURL(picture);
    covers.delete(address);
  }
}

// What begins like a picture need not be one.
document.addEventListener("error", ({ target }) => {
  const broken = [...covers].find(([, picture]) => picture && picture === target.src);
  if (!broken) return;
  covers.set(broken[0], null);
  showSoon();
}, true);

let wasDelayed = false;

const outbox = new Outbox(program, () => {
  if (wasDelayed !== (outbox.delay !== null)) {
    wasDelayed = !wasDelayed;
    announce(wasDelayed ? `${unsaved()} ${kept()}` : "Photos can be saved again.");
  }
  showSoon();
}, (item, scan) => {
  previews.set(scan, item.url);
  refresh();
});

addEventListener("beforeunload", (event) => {
  // The browser asks whether to leave.
  if (outbox.hasUnkept) event.preventDefault();
});

// The camera.

// The browser runs scripts of these addresses alone.
const scripts = globalThis.trustedTypes?.createPolicy("scan", {
  createScriptURL: (address) => {
    if (!["/shrink.js", "/shell.js"].includes(address)) throw new TypeError(`${address} is no script of this page`);
    return address;
  },
}) ?? { createScriptURL: (address) => address };

const camera = new Camera(part("video"), () => showSoon());
const darkroom = new Darkroom(scripts.createScriptURL("/shrink.js"));
const still = matchMedia("(prefers-reduced-motion: reduce)");
// Whether the last press woke the camera: then it takes no photo, however long it lasts.
let [shots, wakes] = [0, false];

/** Never waits: the flash first, then the frame, and the rest beside the page. */
function shoot() {
  const { pauseEndsMilliseconds } = state.file ?? {};
  if (wakes || camera.state !== "live" || pauseEndsMilliseconds > Date.now()) return;
  part("flash").animate(
    { opacity: still.matches ? [0.5, 0.5] : [1, 0] }, { duration: still.matches ? 120 : 180 });
  navigator.vibrate?.(10);
  shots += 1;
  const name = `shelf ${new Date().toTimeString().slice(0, 8)} ${shots}.jpg`;
  outbox.add(camera.frame().then((frame) => darkroom.develop(frame)), name);
  part("photos").scrollLeft = part("photos").scrollWidth;
}

/** Tells the camera where to focus, and marks the place. A camera that can't be told does nothing. */
async function focusOn(left, top) {
  if (!camera.canFocus) return;
  const [mark, frame] = [part("mark"), part("finder").getBoundingClientRect()];
  mark.style.translate = `${left}px ${top}px`;
  const marking = mark.animate(
    { opacity: still.matches ? [1, 1] : [1, 1, 0] }, { duration: 1200 });
  try {
    await camera.focusOn((left - frame.left) / frame.width, (top - frame.top) / frame.height);
    announce("The camera focuses.");
  } catch (error) {
    marking.cancel();
    say(`The camera can't focus there: ${error.message}`);
  }
}

/** A book by its ISBN, as it is shown. */
const listed = (isbn) => state.books?.books.find((book) => book.isbn === isbn);

function take(files) {
  const most = state.file?.mostPhotoBytes ?? Infinity;
  for (const file of files) {
    // The program refuses the rest. This one would break off while it is sent.
    const isTooLarge = file.size > most;
    outbox.add(isTooLarge ? { photo: file } : darkroom.look(file), file.name, isTooLarge
      ? `${file.name} has ${bytes(file.size)}, more than ${bytes(most)}; make it smaller.` : null);
  }
}

// Showing.

const unsaved = () => `The program can't save photos: ${outbox.delay}.`;

const kept = () => (outbox.hasUnkept
  ? "This browser can't keep photos: leave the page open, until they are saved."
  : "Photos that you take now are kept here, and saved as soon as they can be.");

const advice = {
  gone: () => `${kept()} Start the program with: scan serve`,
  refused: () => "Start it with scan serve, and open the address that it prints.",
};

function notices() {
  const { failure, file } = state;
  const isDelayed = outbox.delay !== null;
  if (!failure && !isDelayed && !file?.isOffline) return [];
  const text = failure ? failure.message : isDelayed ? unsaved()
    : "The scan service can't be reached. Photos wait, and are sent by themselves once it can.";
  return [h("div", { class: "notice", "data-key": "notice" }, h("p", {}, h("strong", {}, text)),
    failure ? h("p", {}, advice[failure.code]?.() ?? "") : isDelayed && h("p", {}, kept()))];
}

function controls() {
  const { pauseEndsMilliseconds, quota } = state.file ?? {};
  const isPaused = pauseEndsMilliseconds > Date.now();
  return [
    h("div", { class: "side", "data-key": "choose" }, h("label", { class: "button" },
      "Choose photos",
      h("input", { id: "files", type: "file", accept: "image/jpeg,image/png", multiple: true }))),
    // It keeps the focus while the camera is paused: a key on it goes on, as any other does.
    camera.isShown && h("button", { class: "shutter", "data-key": "shutter",
      "data-act": "shoot", "aria-disabled": isPaused && "true" },
    h("span", { class: "hidden" }, isPaused ? "The scan service wants a pause; it goes on "
      : camera.state === "live" ? "Take a photo" : "Go on with the camera"),
    isPaused && h("span", { role: "timer" }, countdown(pauseEndsMilliseconds, "now"))),
    h("div", { class: "side end", "data-key": "quota" },
      isPaused && !camera.isShown && h("p", { role: "timer" },
        "The scan service wants a pause. It goes on ", countdown(pauseEndsMilliseconds, "now"),
        "."),
      quota && h("p", {}, "Left today: ", h("strong", { class: "number" }, quota.left))),
  ].filter(Boolean);
}

let isComing = false;

/** In the next frame, once for all that has changed until then. */
function showSoon() {
  if (isComing) return;
  isComing = true;
  setTimeout(() => {
    isComing = false;
    show();
  }, 16);
}

function show() {
  const [current, { file, failure, isLive }] = [view(), state];
  document.body.dataset.view = current;
  const isLooking = current === "capture" && camera.isShown;
  document.body.classList.toggle("looking", isLooking);
  document.body.classList.toggle("frozen", isLooking && camera.state !== "live");
  const place = placeInGrid(document.activeElement);
  const badge = { library: file?.books ? String(file.books) : null };
  morph(part("views"), views.map(([name, title]) => h("li", {},
    h("a", { class: "button", href: `#/${name}`, "aria-current": name === current && "page" },
      title, badge[name] && h("span", { class: "tag number" }, badge[name])))));
  const isOffline = Boolean(failure) || file?.isOffline;
  morph(part("state"), isOffline ? [h("strong", { class: "offline" }, "OFFLINE")] : [
    h("span", { class: isLive ? "beat on" : "beat", "aria-hidden": "true" }),
    h("span", { class: "live" }, isLive ? "live" : "not live")]);
  document.title = `${views.find(([name]) => name === current)[1]} – scan`;
  morph(part("photos"), strip(file?.photos ?? [], outbox.items, previews));
  // Above the shutter, and above the books.
  const queue = part("queue");
  const isAbove = main.previousElementSibling === queue;
  if (current === "library" && !isAbove) main.before(queue);
  if (current !== "library" && isAbove) main.after(queue);
  morph(main, [...notices(), ...content(current, file)]);
  if (part("grid")) fill(part("grid"), state.books.books, file.inConflict, covers);
  morph(part("controls"), current === "capture" ? controls() : []);
  // By the wheel it moves while it has the focus, too.
  if (part("zoom")) part("zoom").value = camera.zoom;
  keepFocus(place);
  showSheet();
  showToast();
}

/** Which card has the focus. */
const placeInGrid = (element) => {
  const card = element?.closest(".book");
  return card ? [...card.parentElement.children].indexOf(card) : null;
};

/** A card that goes leaves the focus to the one that takes its place. */
function keepFocus(place) {
  if (place === null || document.activeElement !== document.body) return;
  const cards = document.querySelectorAll(".grid [data-act=book]");
  (cards[Math.min(place, cards.length - 1)] ?? main).focus({ preventScroll: true });
}

// What is said at the foot of the page.

let fading = 0;

/** @param undo is offered beside it. */
function say(text, undo = null) {
  clearTimeout(fading);
  state.toast = { text, undo };
  announce(text);
  const fade = () => {
    // Not under somebody's hand.
    if (part("toast").matches(":hover, :focus-within")) {
      fading = setTimeout(fade, 2000);
      return;
    }
    state.toast = null;
    show();
  };
  fading = setTimeout(fade, 20_000);
  show();
}

function showToast() {
  const { toast } = state;
  morph(part("toast"), toast ? [h("div", { class: "card row" },
    h("p", { class: "value" }, toast.text),
    toast.undo && h("button", { class: "primary", "data-act": "undo" }, "Undo"),
    h("button", { "data-act": "quiet" }, "Dismiss"))] : []);
}

function content(current, file) {
  if (current === "library") {
    if (file) return library(state);
    return state.failure ? [] : [h("p", { class: "quiet", "data-key": "first" }, "One moment…")];
  }
  return finder(camera);
}

// What lies over the page: one photo, or one book.

function opened() {
  const { open, file } = state;
  if (!open) return null;
  if (open.isbn) return open.found && book(open.found, open, covers);
  if (open.item) {
    const item = outbox.items.find(({ key }) => key === open.item);
    return item && itemDetail(item, state.failure?.message ?? (outbox.delay && unsaved()));
  }
  const photo = file?.photos.find(({ id }) => id === open.scan);
  return photo && detail(photo, previews.get(photo.id));
}

/** What the sheet shows, or showed last. */
let shown = null;

function showSheet() {
  const parts = opened();
  if (!parts) {
    // A book is asked for first.
    if (!state.open?.isbn) state.open = null;
    if (sheet.open) sheet.close();
    return;
  }
  if (state.open.error) parts.splice(1, 0, h("p", { class: "notice bad", "data-key": "error" },
    state.open.error));
  shown = state.open;
  morph(sheet, [h("div", { class: "stack", "data-key": state.open.isbn ?? "photo" }, parts)]);
  if (!sheet.open) sheet.showModal();
}

async function open() {
  // Of a program that was started again with another address.
  if (/^#[0-9a-f]{64}$/.test(location.hash)) return location.reload();
  state.open = null;
  camera.want(view() === "capture");
  show();
  await refresh();
  main.focus({ preventScroll: true });
  return scrollTo(0, 0);
}

// Acting.

const acts = {
  camera() {
    camera.start();
  },
  focus() {
    return focusOn(innerWidth / 2, innerHeight / 2);
  },
  shoot,
  photo({ scan }) {
    state.open = { scan: Number(scan) };
    show();
  },
  item({ item }) {
    state.open = { item };
    show();
  },
  close() {
    sheet.close();
  },
  async retry({ scan }) {
    await program.post("retry", { scan: Number(scan) });
    return "The photo is tried again.";
  },
  async forget({ scan, name }) {
    if (!await confirmed(`Remove “${name}”? The photo is deleted; books that it gave stay.`,
      "Remove it")) return null;
    await program.post("forget", { scan: Number(scan) });
    sheet.close();
    return `${name} is removed.`;
  },
  drop({ item }) {
    const found = outbox.items.find(({ key }) => key === item);
    if (found) outbox.drop(found);
    sheet.close();
  },
  async book({ isbn, raw }) {
    const open = { isbn, found: null, isRaw: raw === "yes", saved: null, error: null };
    state.open = open;
    await askOfBook(open);
    show();
  },
  async right({ isbn }) {
    await program.post("edit", { isbn });
    return "The book needs no review any more.";
  },
  async prefer({ entry }) {
    await program.post("prefer", { entry: Number(entry) });
    return "The other value stands now, on all devices.";
  },
  async dismiss({ entry }) {
    await program.post("dismiss", { entry: Number(entry) });
    return "What stands is kept.";
  },
  raw() {
    state.open.isRaw = !state.open.isRaw;
    show();
  },
  async delete({ isbn }) {
    const found = state.open?.found ?? await program.get("book", { isbn });
    // Before there is news of it: it is nobody else's doing.
    state.open = null;
    sheet.close();
    await program.post("delete", { isbn });
    say(`“${found.book.title}” is deleted.`, found.book);
    return null;
  },
  async undo() {
    const { undo } = state.toast;
    await program.post("restore", undo);
    say(`“${undo.title}” is back.`);
    return null;
  },
  quiet() {
    state.toast = null;
    show();
    main.focus({ preventScroll: true });
  },
  async export() {
    const table = URL.createObjectURL(await program.blob("export"));
    h("a", { href: table, download: "books.csv" }).click();
    URL.revokeObjectURL(table);
    return "The books are in books.csv.";
  },
  async clearCovers() {
    await program.post("clear-covers", {});
    return "The covers are cleared. Those that are shown are fetched again when the page is opened anew.";
  },
  review() {
    state.asked.review = !state.asked.review;
    return null;
  },
  more() {
    state.asked.limit += SOME;
    return null;
  },
};

document.addEventListener("click", async ({ target }) => {
  const button = target.closest("[data-act]");
  if (!button || button.ariaDisabled === "true") return;
  // Not `disabled`, which would lose the focus.
  button.ariaDisabled = "true";
  try {
    const said = await acts[button.dataset.act](button.dataset);
    if (said) say(said);
    if (said !== undefined) await refresh();
  } catch (error) {
    complain(error);
  } finally {
    button.ariaDisabled = null;
  }
});

/** Shows what was not done, where the person looks. */
function complain(error) {
  if (!(error instanceof Refusal)) throw error;
  if (sheet.open && state.open) {
    state.open.error = error.message;
    announce(error.message);
    show();
  } else {
    say(error.message);
  }
}

/** A field of a book is saved when it is left: others of the book stay whoever changes them. */
async function save(input) {
  const { open } = state;
  const { field, isbn } = input.dataset;
  try {
    await program.post("edit", { isbn, [field]: input.value.trim() });
    Object.assign(open, { saved: field, error: null });
    announce("Saved.");
    await refresh();
  } catch (error) {
    complain(error);
  }
}

async function takeTable(file) {
  try {
    const { added, known } = await program.upload("import", {}, file);
    say(`${several(added, "book")} added. ${several(known, "book")} were there, and stay.`);
    await refresh();
  } catch (error) {
    complain(error);
  }
}

sheet.addEventListener("close", () => {
  // The event comes a moment later, when another book may have been asked for.
  if (state.open === shown) state.open = null;
  // Its opener may be gone by now, and with it the focus.
  if (document.activeElement === document.body) main.focus({ preventScroll: true });
});

document.addEventListener("change", ({ target }) => {
  if (target.id === "files") {
    take([...target.files]);
    target.value = "";
  }
  if (target.id === "table") {
    takeTable(target.files[0]);
    target.value = "";
  }
  if (target.dataset.field) save(target);
  if (target.id === "order") {
    state.asked.order = target.value;
    refresh();
  }
});

let typing = 0;
document.addEventListener("input", ({ target }) => {
  if (target.id === "zoom") camera.zoomTo(Number(target.value));
  if (target.id !== "text") return;
  const look = (limit) => {
    Object.assign(state.asked, { text: target.value.trim(), limit });
    refresh("books");
  };
  // Cards take longer than the search. The others come in a pause.
  look(SCREEN);
  clearTimeout(typing);
  typing = setTimeout(look, 300, SOME);
});

document.addEventListener("submit", (event) => {
  if (event.target.getAttribute("role") === "search") event.preventDefault();
});

// Photos may be dropped anywhere; without this the browser would leave the page for them.
for (const name of ["dragenter", "dragover", "dragleave", "drop"]) {
  document.addEventListener(name, (event) => {
    if (!event.dataTransfer?.types.includes("Files")) return;
    event.preventDefault();
    document.querySelector(".finder")?.classList.toggle("over",
      name === "dragenter" || name === "dragover");
    if (name === "drop") take([...event.dataTransfer.files]);
  });
}

// Its own way would change the address, which says what is shown.
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  main.focus();
});

// A camera that nobody looks through is off.
document.addEventListener("visibilitychange", () => {
  camera.want(!document.hidden && view() === "capture");
});

// One that nobody uses pauses, and goes on with a tap or a key.
for (const name of ["pointerdown", "pointermove", "keydown", "wheel"]) {
  document.addEventListener(name, () => camera.used(), { capture: true, passive: true });
}
for (const name of ["pointerdown", "keydown"]) {
  document.addEventListener(name, ({ repeat }) => {
    if (repeat) return;
    wakes = camera.state === "paused";
    if (wakes) camera.start();
  });
}

watchLens(camera, focusOn);
watchMenu(part("menu"), listed);

addEventListener("hashchange", open);
setInterval(() => {
  tick();
  if (camera.tire()) announce("The camera is paused. Tap, or press a key, and it goes on.");
  // What is done goes after a while, and a pause ends.
  if (state.file?.photos.some((photo) => !isShown(photo)) || state.file?.pauseEndsMilliseconds) show();
}, 1000);
show();
camera.want(!document.hidden && view() === "capture");
outbox.begin();
// Without it the page needs the program to be opened, and is the same otherwise.
navigator.serviceWorker?.register(scripts.createScriptURL("/shell.js")).catch(() => {});
program.follow(refresh, (isLive) => {
  state.isLive = isLive;
  show();
});
