// The photos on their way: the strip of thumbnails, and one of them in detail.

import { count, h, several } from "/kit.js";

/** For which a photo that is done stays. */
export const FAREWELL = 5000;

export const isShown = (photo) => photo.standing !== "done"
  || Date.now() - Date.parse(photo.since) < FAREWELL;

export function counts({ books, timesLost, warnings }) {
  return [several(books, "book"), timesLost && `${several(timesLost, "answer")} lost`,
    warnings && `${count(warnings)} incomplete`].filter(Boolean).join(", ");
}

const words = { waiting: "waiting", uploading: "uploading", analysing: "analysing", done: "done",
  failed: "failed" };

/** What is said of a photo in few words: the service's own where it says some. */
function step(photo) {
  if (photo.standing === "done") return counts(photo);
  return photo.news && photo.standing !== "failed" ? photo.news : words[photo.standing];
}

const thumb = (url) => h("span", { class: "thumb" },
  url && h("img", { src: url, alt: "", width: 40, height: 60 }));

/** @param previews gives the address of a photo's picture, once there is one. */
export function strip(photos, items, previews) {
  return [
    photos.filter(isShown).map((photo) => h("li", { "data-key": `scan ${photo.id}` },
      h("button", { class: `photo ${photo.standing}`, "data-act": "photo",
        "data-scan": photo.id },
      thumb(previews.get(photo.id)),
      h("span", { class: "hidden" }, `${photo.name}: ${words[photo.standing]}, `),
      h("span", { class: "words" }, step(photo))))),
    items.map((item) => h("li", { "data-key": item.key },
      h("button", { class: `photo ${item.refusal ? "failed" : "waiting"}`, "data-act": "item",
        "data-item": item.key },
      thumb(item.refusal ? null : item.url), h("span", { class: "hidden" }, `${item.name}: `),
      h("span", { class: "words" }, item.refusal ? "refused"
        : item.photo ? "to be saved" : "prepared")))),
  ];
}

const close = () => h("button", { "data-act": "close" }, "Close");

export function detail(photo, url) {
  return [
    h("h2", { id: "sheet-title", class: "value", tabindex: "-1", autofocus: true }, photo.name),
    url && h("img", { class: "large", src: url, alt: "The photo as it was taken" }),
    h("p", { class: "row" }, h("span", { class: "tag" }, words[photo.standing]),
      h("span", {}, counts(photo))),
    photo.progress !== undefined && h("progress", { value: photo.progress, max: 1,
      "aria-label": "How far the service is" }),
    photo.news && h("p", { class: "value" }, photo.news),
    h("p", { class: "row" },
      photo.standing === "failed" && h("button", { class: "primary", "data-act": "retry",
        "data-scan": photo.id }, "Try again"),
      photo.standing !== "done" && h("button", { class: "danger", "data-act": "forget",
        "data-scan": photo.id, "data-name": photo.name },
      photo.standing === "failed" ? "Remove the photo" : "Cancel the scan"),
      close()),
  ].filter(Boolean);
}

/** @param reason says why it is not saved yet; `null` while it is sent. */
export function itemDetail(item, reason) {
  const place = item.isUnkept
    ? "This browser can't keep the photo: leave the page open, until it is saved."
    : "The photo is kept here, and saved as soon as it can be.";
  return [
    h("h2", { id: "sheet-title", class: "value", tabindex: "-1", autofocus: true }, item.name),
    item.refusal ? h("p", { class: "value" }, item.refusal)
      : h("p", {}, reason ? `${reason} ${place}` : "The photo is being saved."),
    h("p", { class: "row" },
      h("button", { class: "danger", "data-act": "drop", "data-item": item.key },
        item.refusal ? "Remove it" : "Forget the photo"),
      close()),
  ];
}
