// The dashboard of `tern serve`: asks for an operator's token, reads the server again and again
// while somebody looks, and shows what it answers.

import { announce, h, morph, Refusal } from "./kit.js";
import { notice } from "./parts.js";
import { Operator } from "./operator.js";
import * as screens from "./spaces.js";

/** Milliseconds between two reads; a slow server is read more seldom. */
const PERIOD = 5000;

const operator = new Operator();
const main = document.getElementById("main");
const state = {};
forget();

/** Nothing is shown to whoever comes next. */
function forget() {
  Object.assign(state, {
    place: null, answer: null, first: new Map(), failure: null, read: null,
  });
}

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
  const { token } = operator;
  const failed = state.failure;
  try {
    const answer = asked.view === "space" ? await operator.space(asked.name)
      : await operator.spaces(asked.name);
    // Somebody left while the server was asked, and may have come back.
    if (token !== operator.token) return;
    for (const space of answer.spaces ?? [answer.space]) note(space);
    Object.assign(state, { place: asked, answer, failure: null, read: new Date() });
    if (failed?.passes) announce("The server answers again.");
  } catch (error) {
    if (token !== operator.token) return;
    // The token was taken away, or never was one.
    if (error.status === 401) {
      operator.leave();
      forget();
    }
    state.failure = error;
    if (failed?.message !== error.message) announce(error.message);
  }
}

/** What a space was when this page first showed it; one that was made anew begins anew. */
function note(space) {
  const known = state.first.get(space.name);
  if (!space.damaged && !(known?.position <= space.position)) state.first.set(space.name, space);
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
    ? screens.space(answer, state.first.get(answer.space.name))
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

function enter(token) {
  // A header takes no other characters, such as those that come along from a page.
  const isToken = /^[\x21-\x7e]+$/.test(token);
  state.failure = isToken ? null : new Refusal(401, {
    code: "unauthorized", message: "This is no token: it has a character that no token has.",
  });
  if (isToken) operator.enter(token);
  else announce(state.failure.message);
  if (isToken) refresh();
  else show();
}

document.addEventListener("submit", (event) => {
  event.preventDefault();
  const given = new FormData(event.target);
  if (event.target.dataset.act === "enter") {
    enter(given.get("token").trim());
  } else {
    location.hash = screens.spaceAddress(given.get("space").trim());
  }
});

document.addEventListener("click", (event) => {
  if (!event.target.closest("[data-act=leave]")) return;
  operator.leave();
  forget();
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
