// The camera's picture: what lies over it, and what fingers, a wheel and a mouse do to it.

import { h } from "/kit.js";

const words = {
  unasked: ["scan needs the camera to see your books", "What it sees stays on this machine, until "
    + "you take a photo. That is sent to the scan service, and deleted here once it is read."],
  denied: ["The browser lets no page use the camera", "Allow it for this page in the browser's "
    + "settings, and load the page again. Until then you can choose photos, or drop them here."],
  none: ["There is no camera that works", "You can choose photos, or drop them here."],
  starting: ["The camera starts", "Your browser may ask whether it may."],
  resting: ["The camera rests", "It goes on when you look at this page."],
};

/** What is over the picture, or where it would be. */
export function finder(camera) {
  const { state } = camera;
  if (state === "live") return [h("div", { class: "lens", "data-key": "lens" }), zoom(camera)];
  if (camera.isShown) return [paused(camera)];
  const [title, text] = words[state];
  return [h("div", { class: "finder", "data-key": "finder" },
    h("h2", {}, title), h("p", { class: "quiet" }, text),
    ["unasked", "none", "denied"].includes(state) && h("p", { class: "row" },
      h("button", { class: "primary", "data-act": "camera" },
        state === "unasked" ? "Continue" : "Try again")),
    state === "unasked" && h("p", { class: "quiet" }, "Or drop photos of your shelves here."))];
}

function zoom({ zoom: times, nearest, canFocus }) {
  const shown = times.toFixed(1);
  return h("div", { class: "zoom glass", "data-key": "zoom" },
    h("label", { for: "zoom" }, "Zoom"),
    h("input", { id: "zoom", type: "range", min: 1, max: nearest, step: 0.1, value: shown,
      "aria-valuetext": `${shown} times` }),
    h("span", { class: "number", "aria-hidden": "true" }, `${shown}×`),
    canFocus && h("button", { "data-act": "focus" }, "Focus"));
}

function paused({ state }) {
  return h("div", { class: "paused", "data-key": "paused" },
    h("h2", {}, "The camera is paused"),
    h("p", {}, state === "waking" ? "It goes on in a moment."
      : "Nobody used it for 30 seconds. Tap, or press a key, and it goes on."),
    h("button", { class: "primary", "data-act": "camera" }, "Go on"));
}

// Gestures.

/** A finger that moves no further than this has tapped, in pixels. */
const STILL = 10;

/** Two fingers and the wheel zoom. A tap focuses.
 *
 * @param focus is called with a place in the window. */
export function watchLens(camera, focus) {
  const fingers = new Map();
  let [spread, before, tap] = [0, 1, null];
  const distance = () => {
    const [one, other] = [...fingers.values()];
    return Math.hypot(one.clientX - other.clientX, one.clientY - other.clientY);
  };
  document.addEventListener("pointerdown", (event) => {
    if (event.button !== 0 || !isLens(event)) return;
    // The end of one may be lost with what it was on.
    if (event.isPrimary) fingers.clear();
    fingers.set(event.pointerId, event);
    tap = fingers.size === 1 ? event : null;
    if (fingers.size === 2) [spread, before] = [distance(), camera.zoom];
  });
  document.addEventListener("pointermove", (event) => {
    if (!fingers.has(event.pointerId)) return;
    fingers.set(event.pointerId, event);
    if (fingers.size === 2) camera.zoomTo(before * distance() / spread);
    if (tap && Math.hypot(event.clientX - tap.clientX, event.clientY - tap.clientY) > STILL) {
      tap = null;
    }
  });
  for (const end of ["pointerup", "pointercancel"]) {
    document.addEventListener(end, (event) => {
      if (!fingers.delete(event.pointerId)) return;
      if (tap && end === "pointerup") focus(event.clientX, event.clientY);
      tap = null;
    });
  }
  document.addEventListener("wheel", (event) => {
    if (!isLens(event)) return;
    event.preventDefault();
    // A touchpad's pinch comes as small turns with the control key.
    camera.zoomTo(camera.zoom * Math.exp(-event.deltaY * (event.ctrlKey ? 0.01 : 0.002)));
  }, { passive: false });
}

const isLens = ({ target }) => Boolean(target.closest?.(".lens"));
