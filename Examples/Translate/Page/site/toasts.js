// What is said for a while, above everything else.

import { announce, h } from "/kit.js";
import { icon } from "/icons.js";
import { t } from "/words.js";

const place = () => document.getElementById("toasts");

/** What takes the last action back, beside the words that it was done. */
export const undoing = () => h("button", { type: "button", "data-act": "undo" }, t("undo"));

/** Says something for a while, with a way back where there is one. */
export function toast(text, way = null) {
  announce(text);
  const item = h("div", { class: "toast row" }, h("p", {}, text), way,
    h("button", { type: "button", "data-act": "dismiss", "aria-label": t("dismiss") }, icon("close")));
  dismiss();
  place().replaceChildren(item);
  // Above a dialog, too.
  place().showPopover();
  const end = () => {
    if (!item.isConnected) return;
    // Not while somebody is at it.
    if (item.matches(":hover, :focus-within")) setTimeout(end, 1000);
    else dismiss();
  };
  setTimeout(end, 6000);
}

export function dismiss() {
  if (place().matches(":popover-open")) place().hidePopover();
  place().replaceChildren();
}
