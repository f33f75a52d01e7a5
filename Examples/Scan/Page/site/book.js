// One book: put right field by field, as the database has it, and deleted.

import { h, moment, several } from "/kit.js";

/** As `scan review` has it. */
export const needsReview = ({ confidence, isReviewed }) => confidence < 0.8 && !isReviewed;

const fields = [["title", "Title"], ["author", "Author"], ["format", "Format"]];

/** @param covers gives the address of a cover's picture, once there is one. */
export function book({ book: shown, photos, lost }, { isRaw, saved }, covers) {
  const picture = covers.get(shown.coverURL);
  return [
    h("div", { class: "beside", "data-key": "beside" },
      h("div", { class: picture ? "cover pictured" : "cover" },
        picture && h("img", { src: picture, alt: "", "data-key": "picture" }),
        h("strong", { class: "value" }, shown.title),
        h("span", { class: "value" }, shown.author ?? "")),
      h("div", { class: "stack" },
        h("h2", { id: "sheet-title", class: "mono value", tabindex: "-1", autofocus: true }, shown.isbn.startsWith("title:")
          ? "A book without an ISBN" : shown.isbn),
        facts(shown, photos))),
    lost.map((entry) => conflict(entry, shown)),
    needsReview(shown) && h("div", { class: "notice row", "data-key": "review" },
      h("p", {}, "Is this the book on the shelf? Put it right below, or say that it is."),
      h("button", { class: "primary", "data-act": "right", "data-isbn": shown.isbn },
        "It is right")),
    fields.map(([name, label]) => h("div", { "data-key": name },
      h("label", { for: `book-${name}` }, label,
        saved === name && h("span", { class: "saved" }, " saved")),
      h("input", { id: `book-${name}`, value: shown[name] ?? "", autocomplete: "off",
        "data-field": name, "data-isbn": shown.isbn, required: name === "title" }))),
    isRaw && h("div", { class: "scroll", "data-key": "raw", tabindex: "0", role: "region", "aria-label": "Raw JSON" },
      raw(shown)),
    h("p", { class: "row", "data-key": "acts" },
      h("button", { "data-act": "raw", "aria-pressed": isRaw ? "true" : "false" }, "Raw JSON"),
      h("button", { class: "danger", "data-act": "delete", "data-isbn": shown.isbn }, "Delete"),
      h("button", { "data-act": "close" }, "Close")),
  ].flat().filter(Boolean);
}

/** Another device wrote the same field without knowing of this one: which is it to be? */
function conflict({ entry, values }, shown) {
  return h("div", { class: "notice stack", "data-key": `lost ${entry}` },
    h("p", {}, "Two devices changed this book at the same time. What stands, and the other:"),
    h("dl", { class: "versus" }, fields.filter(([name]) => name in values).map(([name, label]) => [
      h("dt", {}, label), h("dd", { class: "value" }, shown[name] || "nothing"),
      h("dd", { class: "value other" }, values[name] || "nothing")])),
    h("p", { class: "row" },
      h("button", { class: "primary", "data-act": "prefer", "data-entry": entry },
        "Take the other"),
      h("button", { "data-act": "dismiss", "data-entry": entry }, "Keep what stands")));
}

function facts(shown, photos) {
  return h("ul", {},
    h("li", {}, `${Math.round(shown.confidence * 100)} % sure`,
      shown.isReviewed ? ", and a person says it is right" : ""),
    h("li", {}, `Seen ${several(shown.timesScanned, "time")}`,
      photos.length ? [": ", h("span", { class: "value" }, photos.join(", "))] : ""),
    shown.addedMilliseconds > 0 && h("li", {}, "Added ", moment(shown.addedMilliseconds)));
}

/** Names in green, values as they are. */
function raw(shown) {
  const parts = JSON.stringify(shown, null, 2).split(/^( *"(?:[^"\\]|\\.)*")(?=:)/m);
  return h("pre", { class: "mono" }, parts.map((text, index) => (index % 2
    ? h("span", { class: "name" }, text) : text)));
}
