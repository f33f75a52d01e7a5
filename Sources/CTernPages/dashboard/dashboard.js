// The dashboard of `tern serve`: asks for an operator's token, reads the server again and again
// while somebody looks, and shows what it answers.

import { announce, h, morph } from "./kit.js";
import { notice } from "./parts.js";
import { Operator } from "./operator.js";
import * as screens from "./spaces.js";

/** Milliseconds between two reads; a slow server is read more seldom. */
const PERIOD = 5000;

const operator = new Operator();
const main = document.getElementById("main");
const state = { place: null, answer: null, first: {}, failure: null, read: null };

// The view is in the address, so that the browser's own way back works.
function place() {
  const [, view, name = ""] = location.hash.split("/");
  return { view: view === "space" ? "space" : "spaces", name: decoded(name) };
}

function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    // Somebody wrote it by hand.
    return part;
  }
}

const isSame = (one, other) => one?.view === other.view && one?.name === other.name;

// Asking.

let wake = () => {};

/** Reads now. */
const refresh = () => wake();

/** One read after the other, for as long as the page is there. */
async function read() {
  for (;;) {
    const began = performance.now();
    const asked = new Promise((resolve) => { wake = resolve; });
    if (operator.isKnown && !document.hidden) await readOnce();
    show();
    const rest = Math.max(PERIOD, 4 * (performance.now() - began));
    await Promise.race([asked, new Promise((resolve) => { setTimeout(resolve, rest); })]);
  }
}

async function readOnce() {
  const asked = place();
  const failed = state.failure?.message;
  try {
    const answer = asked.view === "space" ? await operator.space(asked.name)
      : await operator.spaces(asked.name);
    // Somebody left while the server was asked.
    if (!operator.isKnown) return;
    for (const space of answer.spaces ?? [answer.space]) {
      if (!space.damaged) state.first[space.name] ??= space;
    }
    Object.assign(state, { place: asked, answer, failure: null, read: new Date() });
    if (failed) announce("The server answers again.");
  } catch (error) {
    state.failure = error;
    // The token was taken away, or never was one.
    if (error.status === 401) operator.leave();
    if (failed !== error.message) announce(error.message);
  }
}

// Showing.

const advice = {
  gone: "The page asks again by itself.",
  unauthorized: "'tern operator create' makes a token, and a line for the server's file.",
};

function entrance() {
  return h("form", { class: "card stack", "data-key": "enter", "data-act": "enter" },
    h("h2", {}, "An operator's token opens this page"),
    h("p", {}, "It stays in this tab until you close it or leave. The page only reads."),
    h("label", {}, "Token", h("input", {
      name: "token", type: "password", autocomplete: "off", required: true, spellcheck: "false",
    })),
    h("button", { class: "primary" }, "Open"));
}

function content() {
  const { failure, answer } = state;
  const asked = place();
  const top = failure ? [notice(failure.message, advice[failure.code]
    ?? (failure.passes ? "The page asks again by itself." : null))] : [];
  if (!operator.isKnown) return [...top, entrance()];
  if (!answer || !isSame(state.place, asked)) {
    return top.length ? top
      : [h("p", { class: "quiet", "data-key": "first" }, "Asking the server…")];
  }
  if (failure) {
    top.push(h("p", { class: "quiet", "data-key": "old" }, "Below is what was read last."));
  }
  return [...top, ...asked.view === "space"
    ? screens.space(answer, state.first[answer.space.name])
    : screens.list(answer, asked.name, state.first)];
}

function show() {
  const { view, name } = place();
  document.title = view === "space" ? `${name} · tern serve` : "tern serve";
  morph(main, content());
  morph(document.getElementById("views"), operator.isKnown ? [
    h("a", { class: "button", href: "#/spaces",
      "aria-current": view === "spaces" ? "page" : null }, "Spaces"),
    h("button", { type: "button", "data-act": "leave" }, "Leave"),
  ] : []);
  morph(document.getElementById("state"), operator.isKnown && state.read ? [
    h("span", { class: state.failure ? "beat" : "beat on", "aria-hidden": "true" }),
    h("span", { class: "number" }, `Read at ${state.read.toLocaleTimeString("en-GB")}`),
  ] : []);
}

// What a person does.

document.addEventListener("submit", (event) => {
  event.preventDefault();
  const given = new FormData(event.target);
  if (event.target.dataset.act === "enter") {
    operator.enter(given.get("token").trim());
    state.failure = null;
    refresh();
  } else {
    location.hash = screens.spaceAddress(given.get("space").trim());
  }
});

document.addEventListener("click", (event) => {
  if (!event.target.closest("[data-act=leave]")) return;
  operator.leave();
  Object.assign(state, { place: null, answer: null, first: {}, failure: null, read: null });
  show();
});

addEventListener("hashchange", () => {
  show();
  main.focus();
  scrollTo(0, 0);
  refresh();
});
document.addEventListener("visibilitychange", () => document.hidden || refresh());
addEventListener("online", refresh);
read();
