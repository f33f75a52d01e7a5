// The page of `tern inspect --serve`: asks the program, shows its answers, and follows the file.

import { announce, confirmed, h, morph, Program, Refusal, tick } from "/kit.js";
import { notice } from "/parts.js";
import * as screens from "/screens.js";

const program = new Program();
const main = document.getElementById("main");

const views = [["overview", "Overview"], ["jobs", "Jobs"], ["inbox", "Inbox"], ["row", "Row"]];

const state = {
  file: null, boxes: {}, row: null, first: {}, failure: null, isLive: false, read: null,
  extraKeys: 0,
};

// The view is in the address, so that the browser's own way back works.
function place() {
  const [, view, ...rest] = location.hash.split("/");
  const name = views.some(([known]) => known === view) ? view : "overview";
  const [replica, table, ...key] = rest.map(decodeURIComponent);
  return { view: name, asked: name === "row" && table ? { replica, table, key } : null };
}

// Asking.

async function ask() {
  const { view, asked } = place();
  const file = await program.get("overview");
  for (const replica of file.replicas) state.first[replica.name] ??= replica.log;
  const boxes = {};
  if (view === "inbox") {
    for (const { name } of file.replicas) {
      boxes[name] = await program.get("inbox", { replica: name }).catch(message);
    }
  }
  const row = asked && await program.get("row", {
    replica: asked.replica, table: asked.table, key: JSON.stringify(asked.key),
  }).catch(message);
  Object.assign(state, { file, boxes, row, failure: null, read: new Date() });
}

/** What went wrong with a part, which is shown in its place. */
function message(error) {
  if (error instanceof Refusal && error.status === 409) return { message: error.message };
  throw error;
}

let [isAsking, isStale, again] = [false, false, 0];

/** One question at a time, and the next not before a while that grows with what the last one
 * took: a large file that is written all the time is not read all the time. */
async function refresh() {
  isStale = true;
  if (isAsking) return;
  isAsking = true;
  try {
    while (isStale) {
      isStale = false;
      const began = performance.now();
      await askOnce();
      const took = performance.now() - began;
      await new Promise((resolve) => { setTimeout(resolve, Math.min(took * 4, 10_000)); });
      // What may pass is tried again without news of the file.
      clearTimeout(again);
      if (state.failure?.passes) again = setTimeout(refresh, 2000);
    }
  } finally {
    isAsking = false;
  }
}

async function askOnce() {
  const failed = state.failure?.message;
  try {
    await ask();
    if (failed) announce("The file can be read again.");
  } catch (error) {
    state.failure = error;
    if (failed !== error.message) announce(error.message);
  }
  show();
}

// Showing.

const advice = {
  absent: "The page looks for it again and again, and shows it once it is there.",
  "not-a-database": "Name the file that the app opens with GRDB.",
  "no-replica": "Nor has it a job queue. Name the file that the app opens with Replica.open.",
  "newer-format": "Use the command of the Tern that the app was built with, or a later one.",
  gone: "Start it again, and open the address that it prints.",
  refused: "It ends in # and the token.",
};

function growth() {
  return Object.fromEntries(state.file.replicas.map(({ name, log }) => [name, {
    operations: log.operations - state.first[name].operations,
    bytes: log.bytes - state.first[name].bytes,
  }]));
}

function content({ view, asked }) {
  const { file, failure } = state;
  const top = failure ? [notice(failure.message, advice[failure.code]
    ?? (failure.passes ? "The page tries again by itself." : null))] : [];
  if (failure && file && failure.code !== "refused") {
    top.push(h("p", { class: "quiet", "data-key": "old" }, "Below is what was read last."));
  }
  if (!file) {
    return top.length ? top : [h("p", { class: "quiet", "data-key": "first" }, "Reading the file…")];
  }
  if (view === "jobs") return [...top, ...screens.jobs(file)];
  if (view === "inbox") return [...top, ...screens.inbox(file, state.boxes)];
  if (view === "row") return [...top, ...screens.row(file, wide(asked), state.row)];
  return [...top, ...screens.overview(file, growth())];
}

function wide(asked) {
  if (!state.extraKeys) return asked;
  const key = [...asked?.key ?? [""], ...Array(state.extraKeys).fill("")];
  return { ...asked, key };
}

function show() {
  const { view, asked } = place();
  const { file } = state;
  const stuck = file?.jobs?.list.filter((job) => job.isStuck).length;
  const kept = (file?.replicas ?? []).flatMap((replica) => Object.values(replica.quarantined))
    .reduce((all, number) => all + number, 0);
  const badges = {
    jobs: stuck ? `${stuck} stuck` : null, inbox: kept ? `${kept} quarantined` : null,
  };
  morph(document.getElementById("views"), views.map(([name, title]) => h("li", {},
    h("a", { class: "button", href: `#/${name}`, "aria-current": name === view && "page" }, title,
      badges[name] && h("span", { class: "tag" }, badges[name])))));
  document.getElementById("file").textContent = file?.path ?? "";
  const isLive = state.isLive && !state.failure;
  morph(document.getElementById("state"), [
    h("span", { class: isLive ? "beat on" : "beat", "aria-hidden": "true" }),
    h("span", {}, isLive ? "live" : "not live"),
    file && h("span", { class: "tag" }, file.allowsChanges ? "changes allowed" : "read-only"),
  ].filter(Boolean));
  const title = views.find(([name]) => name === view)[1];
  document.title = `${title} – ${file?.path.split("/").at(-1) ?? "tern inspect"}`;
  morph(main, content({ view, asked }));
}

async function open() {
  // Of a program that was started again at the same port.
  if (/^#[0-9a-f]{64}$/.test(location.hash)) return location.reload();
  Object.assign(state, { row: null, boxes: {}, extraKeys: 0 });
  main.replaceChildren();
  show();
  await refresh();
  main.focus({ preventScroll: true });
  return scrollTo(0, 0);
}

// Acting.

const acts = {
  async retry({ job }) {
    await program.post("retry", { job: Number(job) });
    return `Job ${job} begins again.`;
  },
  async cancel({ job }) {
    if (!await confirmed(`Cancel job ${job}? What it was to do is forgotten.`, "Cancel the job")) {
      return null;
    }
    await program.post("cancel", { job: Number(job) });
    return `Job ${job} is cancelled.`;
  },
  async restore({ replica, entry }) {
    await program.post("restore", { replica, entry });
    return "What lost is written again.";
  },
  widen() {
    state.extraKeys += 1;
    show();
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
    if (said) announce(said);
  } catch (error) {
    state.failure = error;
    announce(error.message);
    show();
    return;
  } finally {
    button.ariaDisabled = null;
  }
  if (button.dataset.act !== "widen") await refresh();
  if (!document.contains(document.activeElement) || document.activeElement === document.body) {
    main.focus({ preventScroll: true });
  }
});

// Its own way would change the address, which says what is shown.
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  main.focus();
});

document.addEventListener("submit", (event) => {
  if (event.target.id !== "find") return;
  event.preventDefault();
  const form = new FormData(event.target);
  const [replica, table] = JSON.parse(form.get("table") ?? "[]");
  if (table) location.hash = screens.rowAddress(replica, table, form.getAll("key"));
});

addEventListener("hashchange", open);
setInterval(tick, 1000);
show();
program.follow(refresh, (isLive) => {
  state.isLive = isLive;
  show();
});
