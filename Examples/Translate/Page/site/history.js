// What was asked, by day, and what is kept.

import { h } from "/kit.js";
import { icon } from "/icons.js";
import * as talk from "/talk.js";
import { clock, day, nameOf, number, t } from "/words.js";

const empty = (text) => h("p", { class: "card quiet", "data-key": text }, text);

/** Whether a question's translation is among the favorites. */
export const isKept = ({ text, from, found, to }, favorites) => favorites.some((one) =>
  one.text === text && one.target === to && one.source === (found ?? from));

/** The history by day, or what is found in it, the newest first. */
export function history(all, search, favorites) {
  const entries = all.toReversed();
  const count = h("p", { class: "quiet", "data-key": "count", role: "status" },
    search ? t("found", number(entries.length)) : t("historyCount", number(entries.length)));
  if (!entries.length) return [finder(search), empty(t(search ? "nothingFound" : "historyEmpty"))];
  const list = (some) => h("ul", { class: "lines" }, some.map((entry) => line(entry, favorites)));
  if (search) return [finder(search), count, list(entries)];
  const days = Map.groupBy(entries, ({ askedAt }) => new Date(askedAt / 1000).toDateString());
  return [finder(search), count, ...[...days].map(([date, some]) =>
    h("section", { class: "stack", "data-key": date, "aria-label": day(new Date(date)) },
      h("h3", {}, day(new Date(date))), list(some))),
  h("div", { class: "row", "data-key": "clear" },
    h("button", { type: "button", class: "danger", "data-act": "clear" }, icon("trash"),
      t("clearHistory")))];
}

const finder = (search) => h("form", { class: "card", role: "search", "data-key": "finder" },
  h("label", { for: "history-search" }, t("searchHistory")),
  h("input", { id: "history-search", type: "search", value: search, autocomplete: "off" }));

function line(entry, favorites) {
  const { id, conversation, text, translation, from, found, to, askedAt, state } = entry;
  const date = new Date(askedAt / 1000);
  const isStarred = isKept(entry, favorites);
  const source = found ?? from;
  return h("li", { class: "card line", "data-key": id },
    h("a", { class: "whole", href: `#/talk/${encodeURIComponent(conversation)}` },
      h("span", { class: "row quiet" },
        h("span", {}, t("pairIs", nameOf(source), nameOf(to))),
        h("time", { class: "end", datetime: date.toISOString() }, clock(date))),
      h("span", { class: "value clamp", dir: "auto", lang: source === "auto" ? null : source }, text),
      state === "done"
        ? h("span", { class: "value clamp said", dir: "auto", lang: to }, translation)
        : h("span", { class: state === "failed" ? "tag bad" : "tag note" },
          state === "failed" ? talk.problem(entry) : t("waiting"))),
    h("div", { class: "row" },
      state === "done" && h("button", { type: "button", "data-act": "keep", "data-id": id,
        "aria-pressed": String(isStarred), "aria-label": t("keepThis", text.slice(0, 60)) },
      icon("star", isStarred)),
      h("button", { type: "button", "data-act": "remove", "data-id": id,
        "aria-label": t("removeThis", text.slice(0, 60)) }, icon("trash"))));
}

/** Each stands by itself: the question may have left the history. */
export function favorites(list) {
  if (!list.length) return [empty(t("favoritesEmpty"))];
  return [h("ul", { class: "lines", "data-key": "list" }, list.map((one) =>
    h("li", { class: "card line", "data-key": `${one.source} ${one.target} ${one.text}` },
      h("div", { class: "whole" },
        h("span", { class: "quiet" }, t("pairIs", nameOf(one.source), nameOf(one.target))),
        h("span", { class: "value", dir: "auto", lang: one.source }, one.text),
        h("span", { class: "value said", dir: "auto", lang: one.target }, one.translation)),
      h("div", { class: "row" },
        h("button", { type: "button", "data-act": "copyText", "data-text": one.translation,
          "aria-label": t("copyThis", one.translation.slice(0, 60)) }, icon("copy")),
        h("button", { type: "button", "data-act": "letGo", "data-source": one.source,
          "data-target": one.target, "data-text": one.text, "aria-pressed": "true",
          "aria-label": t("keepThis", one.text.slice(0, 60)) }, icon("star", true))))))];
}
