// The settings. All but two are the same on every device; each change is told to the program at once.

import { h } from "/kit.js";
import { icon } from "/icons.js";
import { has, nameOf, number, t } from "/words.js";
import * as voice from "/voice.js";

/** What the page looks like, at once and when it is opened again. */
export function dress(settings) {
  const look = ["theme", "size", "contrast", "motion"].map((name) => [name, settings[name]]);
  localStorage.setItem("look", JSON.stringify(Object.fromEntries(look)));
  for (const [name, value] of look) document.documentElement.dataset[name] = value ?? "";
}

/** Each language by its own name. */
const languages = [["en", "English"], ["es", "Español"], ["fr", "Français"], ["de", "Deutsch"],
  ["ja", "日本語"], ["zh", "简体中文"]];

export function screen(now, storedVoices) {
  const { settings } = now;
  return [
    section("translation", language("from", settings.from), language("to", settings.to),
      toggle("swap", settings), service(settings)),
    section("speech", voices(settings, storedVoices), choice("rate", settings, rates()),
      toggle("speak", settings)),
    section("display",
      choice("language", settings, [["auto", t("likeTheSystem")], ...languages]),
      choice("theme", settings, [["auto", t("likeTheSystem")], ["light", t("light")],
        ["dark", t("dark")]]),
      choice("size", settings, ["100", "125", "150", "200"].map((size) => [size, `${number(size)} %`])),
      choice("contrast", settings, [["auto", t("likeTheSystem")], ["more", t("more")]]),
      choice("motion", settings, [["auto", t("likeTheSystem")], ["less", t("less")]])),
    section("offlineTitle", toggle("offline", settings), installed(now)),
    section("account", sync(now)),
    section("privacy", h("p", {}, t("privacyText")),
      h("div", { class: "row" },
        h("button", { type: "button", class: "danger", "data-act": "clear" }, icon("trash"),
          t("clearHistory")),
        h("button", { type: "button", "data-act": "forget" }, t("forget"))),
      h("p", { class: "quiet" }, t("forgetText"))),
    section("about", h("p", {}, t("aboutText")), h("p", {}, t("version", now.version)),
      h("div", { class: "row" }, h("a", { class: "button", href: "#/welcome" }, t("introduction")))),
  ];
}

const section = (name, ...children) => h("section", {
  class: "card stack settings", "data-key": name, "aria-labelledby": `title-${name}`,
}, h("h3", { id: `title-${name}` }, t(`set.${name}`)), children);

/** A name, what it does, and a control. */
const line = (name, control, id) => h("div", { class: "setting" },
  h("div", { class: "what" },
    id ? h("label", { for: id }, t(`set.${name}`)) : h("strong", { id: `name-${name}` }, t(`set.${name}`)),
    has(`set.${name}.why`) && h("p", { class: "quiet" }, t(`set.${name}.why`))),
  control);

const toggle = (name, settings) => {
  const isOn = settings[name] === "on";
  return line(name, h("button", { type: "button", role: "switch", class: "switch",
    "aria-checked": String(isOn), "aria-labelledby": `name-${name}`, "data-act": "choose",
    "data-name": name, "data-value": isOn ? "off" : "on" }, t(isOn ? "on" : "off")));
};

const choice = (name, settings, options) => line(name, h("select", {
  id: `choose-${name}`, "data-choose": name,
}, options.map(([value, text]) => h("option", {
  value, selected: settings[name] === value,
}, text))), `choose-${name}`);

const language = (side, code) => line(side, h("button", { type: "button", "data-act": "sheet",
  "data-side": side, "data-target": "default", "aria-haspopup": "dialog",
  "aria-label": `${t(`set.${side}`)}: ${nameOf(code)}` }, nameOf(code)));

const rates = () => ["0.5", "0.75", "1", "1.25", "1.5", "2"].map((rate) =>
  [rate, t("times", number(Number(rate)))]);

/** The browser's, for the language that answers come in; this browser's choice alone. */
function voices({ to }, stored) {
  const all = voice.voicesFor(to);
  return line("voice", all.length
    ? h("select", { id: "choose-voice", "data-choose-voice": to }, [["", t("anyVoice")],
      ...all.map(({ voiceURI, name }) => [voiceURI, name])].map(([value, text]) =>
      h("option", { value, selected: (stored[to] ?? "") === value }, text)))
    : h("span", { class: "quiet" }, t("noVoices", nameOf(to))), all.length ? "choose-voice" : null);
}

function service(settings) {
  const field = (name, value) => h("div", {},
    h("label", { for: `set-${name}` }, t(`set.${name}`)),
    h("input", { id: `set-${name}`, name, value, autocomplete: "off", spellcheck: "false" }));
  return h("form", { class: "stack", id: "service", "aria-label": t("set.service") },
    h("p", { class: "quiet" }, t("set.service.why")),
    field("service", settings.service), field("model", settings.model),
    h("div", { class: "row" },
      h("button", { type: "button", "data-act": "service" }, t("save")),
      h("button", { type: "button", "data-act": "standardService" }, t("standardService"))));
}

function installed({ offline }) {
  return [
    offline.length ? h("ul", { class: "row" }, offline.map(([from, to]) =>
      h("li", { class: "tag" }, `${nameOf(from)} → ${nameOf(to)}`)))
      : h("p", { class: "quiet" }, t("nothingInstalled")),
    h("p", { class: "quiet" }, t("install"), " ", h("code", {}, "apt-get install apertium-eng-cat")),
  ];
}

function sync({ sync: state }) {
  if (!state) {
    return [h("p", {}, t("noSync")),
      h("p", {}, h("code", {}, "translate serve --sync URL --space home --token-file FILE"))];
  }
  const { space, phase, unpushed, error } = state;
  return [
    h("p", {}, h("span", { class: `tag ${error ? "bad" : "good"}` }, t(`sync.${phase}`)), " ",
      h("span", { class: "value" }, space)),
    unpushed > 0 && h("p", { class: "quiet" }, t("unpushed", number(unpushed))),
    error && h("p", { class: "value" }, error),
  ];
}
