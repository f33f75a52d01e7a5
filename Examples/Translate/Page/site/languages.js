// The bar with both languages, and the sheet in which one is chosen.

import { announce, h, morph } from "/kit.js";
import { icon } from "/icons.js";
import { language, nameOf, t } from "/words.js";

let list = [];
let listed = "";
let sheet = null;

const plain = (text) => text.normalize("NFD").replace(/\p{M}/gu, "").toLocaleLowerCase(language);

/** The pair above a conversation. */
export function bar(pair, now) {
  const side = (name, code) => h("button", {
    type: "button", class: "side", "data-act": "sheet", "data-side": name, "aria-haspopup": "dialog",
  }, h("span", { class: "quiet" }, t(name)), h("span", { class: "value" }, nameOf(code)),
  code !== "auto" && worksOffline(name, code, pair, now)
    ? h("span", { class: "mark quiet" }, icon("down"), t("offline")) : null);
  return h("section", { class: "pair", "data-key": "pair", "aria-label": t("pair") },
    side("from", pair.from),
    h("button", { type: "button", class: "swap", "data-act": "swap", "aria-label": t("swap") },
      icon("swap")),
    side("to", pair.to));
}

/** Whether this machine translates by itself with it, beside what stands on the other side. */
function worksOffline(side, code, pair, { offline }) {
  return offline.some(([from, to]) => (side === "from"
    ? from === code && to === pair.to
    : to === code && (from === pair.from || pair.from === "auto")));
}

// The sheet.

/** `target` is `default` where the choice is for the settings, and not for the next question. */
export async function open(side, target, state, program) {
  const dialog = h("dialog", { class: "sheet", "aria-labelledby": "sheet-title" });
  const mine = { dialog, side, target, search: "", back: document.activeElement };
  sheet = mine;
  document.body.append(dialog);
  dialog.addEventListener("close", () => {
    dialog.remove();
    mine.back?.focus();
    if (sheet === mine) sheet = null;
  });
  dialog.addEventListener("input", ({ target }) => {
    mine.search = target.value;
    refresh(state);
    if (!mine.hasRows) return;
    const count = dialog.querySelectorAll("[data-act=pick]").length;
    announce(t("found", count));
  });
  draw(h("p", { class: "quiet" }, t("opening")));
  dialog.showModal();
  // The sheet is seen before its six hundred rows are made.
  const seen = new Promise((resolve) => { requestAnimationFrame(() => setTimeout(resolve)); });
  if (listed !== language) {
    list = await program.get("languages", { in: language });
    listed = language;
    const collator = new Intl.Collator(language);
    list.sort((one, other) => collator.compare(one.name, other.name));
  }
  await seen;
  mine.hasRows = true;
  refresh(state);
}

/** Its rows go first, for a browser that closes a dialog looks at all that is in it. */
export function close(dialog) {
  dialog.querySelector(".sheet-list")?.remove();
  dialog.close();
}

/** Draws the rows anew if anything is another one now: they are many. */
export function refresh(state) {
  if (!sheet?.hasRows || !sheet.dialog.open || !state.now) return;
  const { stars, recents, offline, settings } = state.now;
  const shown = JSON.stringify([sheet.search, stars, recents, offline, settings, state.pair]);
  if (shown === sheet.shown) return;
  sheet.shown = shown;
  draw(parts(state));
}

function draw(rows) {
  const { side } = sheet;
  morph(sheet.dialog, [
    h("div", { class: "sheet-top stack", "data-key": "top" },
      h("div", { class: "row" },
        h("h2", { id: "sheet-title" }, t(side === "from" ? "chooseFrom" : "chooseTo")),
        h("button", { type: "button", class: "end", "data-act": "close", "aria-label": t("close") },
          icon("close"))),
      h("div", {}, h("label", { for: "language-search" }, t("searchLanguages")),
        h("input", { id: "language-search", type: "search", autocomplete: "off",
          spellcheck: "false", autofocus: true }))),
    h("div", { class: "sheet-list stack", "data-key": "list" }, rows),
  ]);
}

function parts({ now, pair: asked }) {
  const { side, search, target } = sheet;
  const pair = target === "default" ? now.settings : asked;
  const wanted = plain(search.trim());
  const known = new Map(list.map((item) => [item.code, item]));
  const rows = (items) => h("ul", { class: "languages" },
    items.map((item) => row(item, side, target, pair, now)));
  const part = (key, title, items) => (items.length
    ? h("section", { "data-key": key, "aria-label": title }, h("h3", {}, title), rows(items)) : null);
  if (wanted) {
    const found = list.filter(({ code, name, native }) => code === wanted
      || plain(name).includes(wanted) || plain(native).includes(wanted));
    return found.length ? part("found", t("found", found.length), found)
      : h("p", { class: "quiet", role: "status" }, t("noLanguage"));
  }
  const some = (codes) => codes.map((code) => known.get(code)).filter(Boolean);
  const regions = Map.groupBy(list, (item) => item.region);
  const names = [...regions.keys()].filter(Boolean).sort(new Intl.Collator(language).compare);
  return [
    side === "from" && h("ul", { class: "languages", "data-key": "auto" }, h("li", {},
      h("button", { type: "button", "data-act": "pick", "data-side": side, "data-code": "auto",
        "data-target": target, "aria-current": pair.from === "auto" && "true" }, h("span", {}, t("auto"))))),
    part("stars", t("favoriteLanguages"), some(now.stars)),
    part("recents", t("recentLanguages"), some(now.recents)),
    names.map((name) => part(name, name, regions.get(name))),
    part("others", t("otherLanguages"), regions.get("") ?? []),
  ].flat().filter(Boolean);
}

function row(item, side, target, pair, now) {
  const { code, name, native, flag } = item;
  const isStarred = now.stars.includes(code);
  const isOffline = now.offline.some((pair) => pair.includes(code));
  return h("li", { "data-key": code },
    h("button", { type: "button", "data-act": "pick", "data-side": side, "data-code": code,
      "data-target": target, "aria-current": pair[side] === code && "true" },
    h("span", { class: "flag", "aria-hidden": "true" }, flag),
    h("span", { class: "names" }, h("span", {}, name),
      native === name ? null : h("span", { class: "quiet value", lang: code }, native)),
    isOffline && h("span", { class: "mark quiet" }, icon("down"),
      worksOffline(side, code, pair, now) ? t("offline") : t("offlineWithOthers")),
    pair[side] === code && icon("check")),
    h("button", { type: "button", class: "star", "data-act": "star", "data-code": code,
      "data-value": isStarred ? "off" : "on", "aria-pressed": String(isStarred),
      "aria-label": t("favoriteLanguage", name) }, icon("star", isStarred)));
}

// The favorites alone.

const LONG = 500;

/** Calls `open` with a side of the bar that is pressed for long, or whose menu is asked for. */
export function watchLongPress(open) {
  let timer;
  let wasLong = false;
  const sideOf = (event) => event.target.closest?.(".pair [data-act=sheet]")?.dataset.side;
  document.addEventListener("pointerdown", (event) => {
    wasLong = false;
    const side = sideOf(event);
    if (!side || event.button !== 0) return;
    timer = setTimeout(() => {
      wasLong = true;
      open(side);
    }, LONG);
  });
  for (const end of ["pointerup", "pointercancel", "pointermove"]) {
    document.addEventListener(end, (event) => {
      if (end !== "pointermove" || Math.hypot(event.movementX, event.movementY) > 8) {
        clearTimeout(timer);
      }
    });
  }
  // The click that ends a long press is none.
  document.addEventListener("click", (event) => {
    if (wasLong && sideOf(event)) event.stopImmediatePropagation();
    wasLong = false;
  }, true);
  document.addEventListener("contextmenu", (event) => {
    const side = sideOf(event);
    if (!side) return;
    event.preventDefault();
    clearTimeout(timer);
    if (!wasLong) open(side);
  });
}

export function openFavorites(side, { now, pair }) {
  if (document.querySelector("dialog[open]")) return;
  const back = document.activeElement;
  const dialog = h("dialog", { class: "stack", "aria-labelledby": "menu-title" },
    h("h2", { id: "menu-title" }, t("favoriteLanguages")),
    now.stars.length ? h("ul", { class: "languages" }, now.stars.map((code) => h("li", {},
      h("button", { type: "button", "data-act": "pick", "data-side": side, "data-code": code,
        "aria-current": pair[side] === code && "true" }, h("span", {}, nameOf(code)),
      pair[side] === code && icon("check"))))) : h("p", { class: "quiet" }, t("noFavorites")),
    h("div", { class: "row" },
      h("button", { type: "button", "data-act": "close" }, t("close"))));
  document.body.append(dialog);
  dialog.addEventListener("close", () => {
    dialog.remove();
    back?.focus();
  });
  dialog.showModal();
}
