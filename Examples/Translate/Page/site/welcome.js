// The introduction: a few steps, each of which can be skipped with all that follow.

import { h } from "/kit.js";
import { icon } from "/icons.js";
import { nameOf, t } from "/words.js";

export const steps = ["say", "listen", "languages", "know", "ready"];

const signs = { say: "speaker", listen: "mic", languages: "swap", know: "star", ready: "check" };

/** `microphone` is what came of asking for it. */
export function screen(number, { settings }, microphone) {
  const name = steps[number];
  const isLast = number === steps.length - 1;
  return [
    h("section", { class: "card stack welcome", "data-key": name, "aria-labelledby": "welcome-title" },
      h("div", { class: "row" },
        h("progress", { class: "bar", max: steps.length, value: number + 1,
          "aria-label": t("step", number + 1, steps.length) }),
        h("p", { class: "quiet" }, t("step", number + 1, steps.length)),
        !isLast && h("button", { type: "button", class: "end", "data-act": "welcomed" }, t("skipIt"))),
      h("div", { class: "sign" }, icon(signs[name])),
      h("h2", { id: "welcome-title", tabindex: "-1" }, t(`welcome.${name}`)),
      h("p", {}, t(`welcome.${name}.text`)),
      name === "listen" && h("div", { class: "row" },
        h("button", { type: "button", "data-act": "allowMicrophone" }, icon("mic"),
          t("allowMicrophone"))),
      name === "listen" && h("p", { role: "status" }, microphone),
      name === "languages" && h("div", { class: "row" }, ["from", "to"].map((side) =>
        h("button", { type: "button", "data-act": "sheet", "data-side": side,
          "data-target": "default", "aria-haspopup": "dialog",
          "aria-label": `${t(`set.${side}`)}: ${nameOf(settings[side])}` },
        h("span", { class: "quiet" }, t(side)), nameOf(settings[side])))),
      h("div", { class: "row" },
        number > 0 && h("button", { type: "button", "data-act": "step", "data-number": number - 1 },
          t("previous")),
        isLast
          ? h("button", { type: "button", class: "primary end", "data-act": "welcomed" }, t("begin"))
          : h("button", { type: "button", class: "primary end", "data-act": "step",
            "data-number": number + 1 }, t("next")))),
  ];
}
