// What all pages of Tern's programs share: elements, the connection to the program, words for
// numbers and times. Data becomes text nodes and attributes, never markup.

/** An element. A child may be a node, a text, a list of these, or nothing. */
export function h(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === false || value === null || value === undefined) continue;
    element.setAttribute(key, value === true ? "" : String(value));
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== false
    && child !== undefined));
  return element;
}

/** Makes the children of an element those given, and keeps what is equal: with it the focus, what
 * is selected, and where it is scrolled. Elements with another `data-key` are others, and one with
 * the same key stays when those before it go. A child that is there already stays as it is, and so
 * do the children of an element with `data-own`, which are another call's. */
export function morph(element, children) {
  const wanted = children.flat(Infinity).map((child) => (child instanceof Node ? child
    : document.createTextNode(String(child))));
  const keys = new Set(wanted.map((child) => child.dataset?.key));
  let present = element.firstChild;
  for (const child of wanted) {
    while (present?.dataset?.key !== undefined && !keys.has(present.dataset.key)) {
      const gone = present;
      present = present.nextSibling;
      gone.remove();
    }
    if (!present) {
      element.append(child);
    } else if (present === child) {
      present = present.nextSibling;
    } else if (isSame(present, child)) {
      const old = present;
      present = present.nextSibling;
      morphOne(old, child);
    } else if (present.dataset?.key !== undefined && child.dataset?.key !== undefined) {
      // A new one, before one that stays.
      element.insertBefore(child, present);
    } else {
      const old = present;
      present = present.nextSibling;
      old.replaceWith(child);
    }
  }
  while (present) {
    const gone = present;
    present = present.nextSibling;
    gone.remove();
  }
}

function morphOne(present, wanted) {
  if (present.nodeType === Node.TEXT_NODE) {
    if (present.data !== wanted.data) present.data = wanted.data;
    return;
  }
  for (const { name } of [...present.attributes]) {
    if (!wanted.hasAttribute(name) && name !== "open") present.removeAttribute(name);
  }
  for (const { name, value } of wanted.attributes) {
    if (present.getAttribute(name) === value) continue;
    present.setAttribute(name, value);
    // A field that somebody wrote into shows what the attribute says no more by itself.
    if (name === "value" && present !== document.activeElement) present.value = value;
  }
  if (wanted.dataset.own === undefined) morph(present, [...wanted.childNodes]);
}

function isSame(one, other) {
  return one.nodeName === other.nodeName && one.dataset?.key === other.dataset?.key;
}

/** Says something to whoever does not look. */
export function announce(text) {
  const place = document.getElementById("said");
  place.textContent = "";
  // In a task of its own, so that the same words are said again.
  setTimeout(() => { place.textContent = text; }, 50);
}

/** Asks before what can't be undone. */
export function confirmed(question, yes, no = "Keep it") {
  return new Promise((resolve) => {
    const back = document.activeElement;
    const dialog = h("dialog", { "aria-labelledby": "question", class: "stack" },
      h("p", { id: "question" }, question),
      h("form", { method: "dialog", class: "row" },
        h("button", { value: "", autofocus: true }, no),
        h("button", { value: "yes", class: "danger" }, yes)));
    document.body.append(dialog);
    dialog.addEventListener("close", () => {
      dialog.remove();
      back?.focus();
      resolve(dialog.returnValue === "yes");
    });
    dialog.showModal();
  });
}

// The connection.

const KEY = "tern-token";

/** An answer that is not what was asked for. */
export class Refusal extends Error {
  constructor(status, { code, message, passes }) {
    super(message);
    [this.status, this.code, this.passes] = [status, code, passes === "yes"];
  }
}

/** The program behind the page. The token comes in the address's fragment, which no browser sends
 * anywhere, and goes from there at once; it is sent as a header, which no other site can add. */
export class Program {
  /** `storage` is where the token stays: for this tab, or `localStorage` for every later one, which
   * a page needs that is installed and whose program keeps its token. */
  constructor(storage = sessionStorage) {
    const given = /^#([0-9a-f]{64})$/.exec(location.hash);
    if (given) {
      storage.setItem(KEY, given[1]);
      history.replaceState(null, "", location.pathname);
    }
    this.headers = { Authorization: `Bearer ${storage.getItem(KEY) ?? ""}` };
  }

  async get(path, query = {}) {
    return this.#ask(address(path, query), {}, "json");
  }

  /** A file. */
  async blob(path, query = {}) {
    return this.#ask(address(path, query), {}, "blob");
  }

  async post(path, body) {
    return this.#ask(address(path), {
      method: "POST", body: JSON.stringify(body),
      headers: { "Content-Type": "application/json" },
    }, "json");
  }

  /** Sends a file. */
  async upload(path, query, blob) {
    return this.#ask(address(path, query), {
      method: "POST", body: blob, headers: { "Content-Type": "application/octet-stream" },
    }, "json");
  }

  /** The answer as `form`. One that is cut off in its middle is none. */
  async #ask(url, options, form) {
    const headers = { ...this.headers, ...options.headers };
    let response, answer;
    try {
      response = await fetch(url, { ...options, headers, cache: "no-store" });
      answer = await (response.ok ? response[form]() : response.json());
    } catch {
      throw new Refusal(0, {
        code: "gone", passes: "yes",
        message: "The program that serves this page does not answer. It may have been stopped.",
      });
    }
    if (!response.ok) throw new Refusal(response.status, answer);
    return answer;
  }

  /** Calls `changed` whenever there may be news, and `state` with whether the stream is open. It
   * rests while nobody sees the page. */
  async follow(changed, state) {
    for (let delay = 500; ; delay = Math.min(delay * 2, 8000)) {
      const stop = new AbortController();
      const hide = () => document.hidden && stop.abort();
      document.addEventListener("visibilitychange", hide);
      try {
        const response = await fetch("/api/events", {
          headers: this.headers, signal: stop.signal, cache: "no-store",
        });
        if (response.ok) {
          state(true);
          delay = 250;
          const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
          for (let part = await reader.read(); !part.done; part = await reader.read()) {
            if (part.value.includes("data:")) changed();
          }
        }
      } catch {
        // What was cut off is tried again below.
      }
      document.removeEventListener("visibilitychange", hide);
      state(false);
      await (document.hidden ? shown() : pause(delay));
      changed();
    }
  }
}

function address(path, query = {}) {
  // Only forms write a space as +; the program's parser takes it for itself.
  const text = new URLSearchParams(query).toString().replaceAll("+", "%20");
  return `/api/${path}${text && "?"}${text}`;
}

const pause = (milliseconds) => new Promise((resolve) => { setTimeout(resolve, milliseconds); });

const shown = () => new Promise((resolve) => {
  document.addEventListener("visibilitychange", resolve, { once: true });
});

// Words.

const numbers = new Intl.NumberFormat("en");
const moments = new Intl.DateTimeFormat("en-GB", {
  dateStyle: "medium", timeStyle: "medium",
});

export const count = (number) => numbers.format(number);

export const several = (number, one, many = `${one}s`) =>
  `${count(number)} ${number === 1 ? one : many}`;

export function bytes(number) {
  const units = ["B", "kB", "MB", "GB", "TB"];
  let [value, unit] = [number, 0];
  while (Math.abs(value) >= 1000 && unit < units.length - 1) [value, unit] = [value / 1000, unit + 1];
  return `${unit ? value.toFixed(1) : value} ${units[unit]}`;
}

export const moment = (milliseconds) =>
  h("time", { datetime: iso(milliseconds) }, moments.format(milliseconds));

/** How long until a moment, counted down by `tick`. */
export const countdown = (milliseconds, late) => h("time", {
  class: "number", "data-until": milliseconds, "data-late": late, datetime: iso(milliseconds),
}, remaining(milliseconds, late));

function iso(milliseconds) {
  const date = new Date(milliseconds);
  return Number.isNaN(date.getTime()) ? "" : date.toISOString();
}

function remaining(until, late) {
  const seconds = Math.ceil((until - Date.now()) / 1000);
  if (seconds <= 0) return late;
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60];
  const rest = `${String(seconds % 60).padStart(2, "0")} s`;
  if (hours > 48) return `in ${count(Math.floor(hours / 24))} days`;
  if (hours) return `in ${hours} h ${minutes} min`;
  return minutes ? `in ${minutes} min ${rest}` : `in ${seconds} s`;
}

/** Brings all countdowns up to now. */
export function tick() {
  for (const element of document.querySelectorAll("time[data-until]")) {
    const text = remaining(Number(element.dataset.until), element.dataset.late);
    if (element.textContent !== text) element.textContent = text;
  }
}
