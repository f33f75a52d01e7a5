// A conversation: what was asked, what came of it, what it waits for, and the field for the next.

import { h } from "/kit.js";
import { icon } from "/icons.js";
import { isKept } from "/history.js";
import { clock, has, language, nameOf, number, t } from "/words.js";

/** In characters, as a person counts them. */
export const longest = 10_000;

const segmenter = new Intl.Segmenter();

export function length(text) {
  // What is far too long need not be counted.
  if (text.length > 40 * longest) return text.length;
  let count = 0;
  for (const _ of segmenter.segment(text)) count += 1;
  return count;
}

export function screen(now, state, playing) {
  if (state.shown && !now.talk) {
    return [h("p", { class: "card", "data-key": "absent" }, t("talkAbsent"))];
  }
  if (!now.entries.length) {
    return [h("section", { class: "card stack", "data-key": "empty" },
      h("h2", {}, t("emptyTitle")), h("p", {}, t("emptyText")),
      now.interpreter === "runs" && h("p", { class: "quiet" }, t("ownService")))];
  }
  return [
    now.hasMore && h("p", { class: "quiet", "data-key": "more" }, t("hasMore", now.entries.length)),
    h("ol", { class: "talk", "data-key": "talk", "aria-label": t("conversation") },
      now.entries.map((entry) => card(entry, now, state, playing))),
    h("div", { class: "row", "data-key": "elsewhere" },
      h("button", { type: "button", "data-act": "handoff" }, icon("link"), t("handoff"))),
  ].filter(Boolean);
}

const button = (act, id, name, sign, more = {}) => h("button", {
  type: "button", "data-act": act, "data-id": id, ...more,
}, sign && icon(sign, more["aria-pressed"] === "true"), h("span", { class: "name" }, name));

function card(entry, now, state, playing) {
  const { id } = entry;
  const source = entry.found ?? entry.from;
  const isFresh = state.fresh.has(id) && entry.state === "done";
  return h("li", { class: "entry", "data-key": id },
    // Seen while a finger moves the turn away.
    h("span", { class: "behind", "aria-hidden": "true" }, icon("trash"), icon("trash")),
    h("div", { class: "part card asked" },
      h("p", { class: "row quiet" },
        h("span", {}, entry.from === "auto" && entry.found
          ? t("detected", nameOf(entry.found)) : nameOf(source)),
        h("time", { class: "end", datetime: new Date(entry.askedAt / 1000).toISOString() },
          clock(new Date(entry.askedAt / 1000)))),
      h("p", { class: "value text", dir: "auto", lang: source === "auto" ? null : source },
        entry.text),
      h("div", { class: "row" },
        button("edit", id, t("edit"), "edit"), button("remove", id, t("remove"), "trash"))),
    h("div", { class: isFresh ? "part card came fresh" : "part card came" },
      h("p", { class: "row" }, h("span", { class: "quiet" }, nameOf(entry.to)),
        isFresh && h("span", { class: "success" }, icon("check")), tags(entry)),
      entry.state === "done" ? done(entry, now, state, playing)
        : entry.state === "failed" ? failed(entry) : waiting(entry, now, state.expected)));
}

function tags({ state, isOffline, confidence, engine }) {
  const percent = confidence === undefined || confidence === null ? 100 : confidence * 100;
  return [
    state === "done" && percent < 90
      ? h("span", { class: "tag note" }, t("confidence", Math.floor(percent))) : null,
    isOffline ? h("span", { class: "tag note" }, t("madeOffline")) : null,
    engine ? h("span", { class: "quiet value engine" }, engine) : null,
  ];
}

function done(entry, now, { pronunciations, refusals }, playing) {
  const { id, to, translation, alternatives } = entry;
  const isPlaying = playing?.id === id;
  const isStarred = isKept(entry, now.favorites);
  const said = pronunciations[id];
  return [
    h("p", { class: "value text big", dir: "auto", lang: to }, translation),
    isPlaying && position(playing),
    refusals[id] && h("p", { class: "notice" }, t("notPlayed"), " ", refusals[id]),
    said !== undefined && h("p", { class: "value ipa", id: `ipa-${id}` },
      said ? `[${said}]` : t("noPronunciation")),
    h("div", { class: "row" },
      button("copy", id, t("copy"), "copy"), button("share", id, t("share"), "share"),
      isPlaying ? button("play", id, t("stop"), "stop") : button("play", id, t("play"), "speaker"),
      button("keep", id, t("keep"), "star", { "aria-pressed": String(isStarred) }),
      now.canSpeak && button("pronounce", id, t("pronunciation"), null,
        { "aria-expanded": String(said !== undefined) })),
    alternatives?.length ? h("details", {},
      h("summary", {}, t("alternatives", alternatives.length)),
      h("ul", { class: "stack" }, alternatives.map((text) => h("li", { class: "row" },
        h("span", { class: "value", dir: "auto", lang: to }, text),
        h("button", { type: "button", class: "end", "data-act": "copyText", "data-text": text,
          "aria-label": t("copyThis", text) }, icon("copy")))))) : null,
  ];
}

/** A line with the place that is spoken: of the program's sound one to be moved along. */
function position({ done: share, seconds, at }) {
  const waves = (isMeasured) => h("span", { class: isMeasured ? "waves measured" : "waves",
    "aria-hidden": "true" }, icon("speaker"));
  if (seconds === undefined) {
    return [
      h("div", { class: "row speaking" }, waves(false),
        h("progress", { class: "bar", max: 1, value: share, "aria-label": t("playing") })),
      share !== undefined && h("p", { class: "quiet small" }, t("spokenByBrowser")),
    ];
  }
  // A second by each arrow key, and of what is short a twentieth.
  return h("div", { class: "row speaking" }, waves(true),
    h("input", { type: "range", class: "position", id: "position", min: 0, max: seconds,
      step: Math.min(1, seconds / 20), value: at, "aria-label": t("position"),
      "aria-valuetext": placeOf(at, seconds) }));
}

const placeOf = (at, seconds) =>
  t("positionOf", number(Math.round(at)), number(Math.round(seconds)));

/** Brings the line, and the waves beside it, up to what is played now. */
export function follow(playing) {
  const line = document.getElementById("position");
  if (!line || playing?.at === undefined) return;
  line.value = playing.at;
  line.previousSibling.style.setProperty("--loud", playing.loud);
  const text = placeOf(playing.at, playing.seconds);
  if (line.ariaValueText !== text) line.ariaValueText = text;
}

// What there is instead of a translation.

export const problem = ({ problem: name, detail }) =>
  `${has(`problem.${name}`) ? t(`problem.${name}`) : name}${detail ? ` (${detail})` : ""}`;

/** Problems that another service, or another key, may not have. */
const aboutService = new Set(["wrongKey", "insecure", "refused", "broken", "overloaded", "empty"]);

function failed(entry) {
  const { id, problem: name } = entry;
  return h("div", { class: "notice bad stack", role: "group", "aria-label": t("noTranslation") },
    h("p", {}, h("strong", {}, t("noTranslation"))),
    h("p", { class: "value" }, problem(entry)),
    h("div", { class: "row" },
      button("again", id, t("again"), null, { class: "primary" }),
      button("edit", id, t("editText"), "edit"),
      aboutService.has(name) && h("a", { class: "button", href: "#/settings" }, t("otherService")),
      button("details", id, t("report"), "copy")));
}

/** For whoever helps: nothing of what was asked, and no key. */
export function report({ id, problem: name, detail, from, to, askedAt }, now) {
  const { settings, version } = now;
  const line = now.waits.includes(id) ? now.standing : null;
  return [
    `version: ${version}`,
    `problem: ${name ?? line?.state}`, detail && `detail: ${detail}`,
    line?.reason && `detail: ${line.reason}`, `languages: ${from} ${to}`,
    `service: ${settings.service}`, `model: ${settings.model}`,
    `asked: ${new Date(askedAt / 1000).toISOString()}`,
  ].filter(Boolean).join("\n");
}

function waiting(entry, now, expected) {
  const { id, from, to } = entry;
  if (!now.waits.includes(id)) return h("p", { class: "quiet" }, t("waitsElsewhere"));
  const line = now.standing;
  if (line.state === "asking") {
    const text = now.asking === id ? now.part : null;
    const { since, until } = now.asking === id ? expected ?? {} : {};
    return [
      text ? h("p", { class: "value text big", dir: "auto", lang: to }, text) : skeleton(entry.text),
      h("p", { class: "row quiet" }, h("span", { class: "dots", "aria-hidden": "true" },
        h("span", {}), h("span", {}), h("span", {})), t("translating")),
      until - since > 2000 && h("p", { class: "quiet number" }, countdown({ until, state: "asking" })),
    ];
  }
  const canOffline = now.offline.some(([source, target]) =>
    target === to && (source === from || from === "auto"));
  const title = line.state === "unreachable" && !navigator.onLine ? "offlineTitle" : line.state;
  return h("div", { class: "notice stack", role: "group", "aria-label": t(`wait.${title}`) },
    h("p", {}, h("strong", {}, t(`wait.${title}`))),
    line.until && h("p", { class: "number" }, countdown(line)),
    line.reason && h("p", { class: "value" }, line.reason),
    h("p", { class: "quiet" }, t("savedForLater")),
    line.state === "unreachable" && !canOffline && now.offline.length > 0 && h("p", { class: "quiet" },
      t("offlineLanguages", now.offline.map((pair) => pair.map(nameOf).join(" → ")).join(", "))),
    h("div", { class: "row" },
      line.state !== "limited" && button("again", id, t("tryNow"), null, { class: "primary" }),
      canOffline && button("offline", id, t("useOffline"), "down"),
      h("a", { class: "button", href: "#/history" }, t("history")),
      line.state === "retrying" && [
        h("a", { class: "button", href: "#/settings" }, t("otherService")),
        button("details", id, t("report"), "copy")],
      button("remove", id, t("cancel"), null, { class: "danger" })));
}

/** Where the answer will stand: about as many lines as the question has. */
const skeleton = (text) => h("div", { class: "skeleton", "aria-hidden": "true" },
  Array.from({ length: Math.min(4, Math.ceil(text.length / 60)) }, () => h("span", {})));

const countdown = ({ until, state }) => h("span", {
  "data-until": until, "data-words": `until.${state}`, "data-late": `late.${state}`,
}, remaining(until, `until.${state}`, `late.${state}`));

function remaining(until, words, late) {
  const seconds = Math.ceil((until - Date.now()) / 1000);
  return seconds > 0 ? t(words, number(seconds)) : t(late);
}

/** Brings all countdowns up to now. */
export function tick() {
  for (const element of document.querySelectorAll("[data-until]")) {
    const { until, words, late } = element.dataset;
    const text = remaining(Number(until), words, late);
    if (element.textContent !== text) element.textContent = text;
  }
}

/** The field for the next question, which stays when the rest is drawn anew. */
export function composer(turns) {
  return h("form", { class: "composer", "aria-label": t("ask"), lang: language },
    h("div", { id: "wave", class: "wave", "aria-hidden": "true", hidden: true },
      Array.from({ length: 32 }, () => h("span", {}))),
    h("div", { id: "speech" }),
    h("label", { for: "text", class: "hidden" }, t("textLabel")),
    h("textarea", { id: "text", name: "text", rows: 2, dir: "auto", placeholder: t("textLabel"),
      "aria-describedby": "count too-long keys", autocomplete: "off" }),
    h("p", { id: "too-long", class: "quiet", role: "alert" }),
    h("div", { class: "row" },
      h("button", { type: "button", "data-act": "turns", "aria-pressed": String(turns) },
        icon("swap"), t("turns")),
      h("span", { id: "count", class: "quiet number" }),
      h("span", { id: "keys", class: "hidden" }, t("keys")),
      h("button", { type: "button", class: "primary end", id: "send", "data-act": "send" },
        t("translate"))));
}

/** The button for speech, in its four states, and the one that plays the last translation. */
export function speech(recording, canListen, isLocal, source, hasLast) {
  const name = t(`record.${recording}`);
  return [
    h("div", { class: "record", "data-key": "record" },
      h("button", { type: "button", class: "record-button", id: "record", "data-act": "record",
        "data-state": canListen ? recording : "disabled", "aria-label": name,
        "aria-describedby": "record-why",
        "aria-disabled": !canListen || recording === "processing" ? "true" : null },
      recording === "processing" ? h("span", { class: "spinner", "aria-hidden": "true" })
        : icon(recording === "recording" ? "stop" : "mic")),
      h("button", { type: "button", "data-act": "playLast", "aria-label": t("playLast"),
        "aria-disabled": hasLast ? null : "true" }, icon("speaker"))),
    h("p", { id: "record-why", class: "quiet", "data-key": "why" }, canListen
      ? recording === "idle" ? isLocal ? t("recognizedRoughly") : t("recognizedByBrowser") : name
      : source === "auto" ? t("notHeardAuto") : t("notHeard", nameOf(source))),
  ];
}

/** What went wrong with speech, and the ways out. */
export const speechFailure = (reason) => h("div", {
  class: "notice bad stack", "data-key": "speech", role: "group", "aria-label": t("notRecognized"),
}, h("p", {}, h("strong", {}, t("notRecognized"))), h("p", {}, reason),
h("div", { class: "row" },
  h("button", { type: "button", class: "primary", "data-act": "record" }, icon("mic"), t("tryNow")),
  h("button", { type: "button", "data-act": "typeInstead" }, t("typeInstead"))));
