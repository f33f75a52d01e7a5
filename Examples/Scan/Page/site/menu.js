// The menu of a book's card: by the right button, a long press, or the menu's key.

import { h } from "/kit.js";
import { needsReview } from "/book.js";

/** After so many milliseconds a press is a long one. */
const LONG = 500;
/** A finger that moves further than this scrolls, in pixels. */
const STILL = 10;
/** Between the menu and the window's edge, in pixels. */
const EDGE = 8;

/** @param find gives the book of an ISBN, as it is listed. */
export function watchMenu(menu, find) {
  const card = ({ target }) => target.closest?.(".grid [data-act=book]");
  let [pressing, isLong] = [0, false];

  const show = (button, left, top) => {
    const book = find(button.dataset.isbn);
    if (book) open(menu, button, book, left, top);
  };

  document.addEventListener("contextmenu", (event) => {
    const button = card(event);
    if (menu.contains(event.target)) event.preventDefault();
    if (!button) return;
    event.preventDefault();
    clearTimeout(pressing);
    // A press that was long has opened it.
    if (!isLong) show(button, event.clientX, event.clientY);
  });
  document.addEventListener("pointerdown", (event) => {
    isLong = false;
    clearTimeout(pressing);
    const button = card(event);
    if (!button || event.pointerType === "mouse") return;
    const [left, top] = [event.clientX, event.clientY];
    const stop = new AbortController();
    pressing = setTimeout(() => {
      stop.abort();
      isLong = true;
      show(button, left, top);
    }, LONG);
    const give = () => {
      stop.abort();
      clearTimeout(pressing);
    };
    for (const end of ["pointerup", "pointercancel"]) {
      document.addEventListener(end, give, { signal: stop.signal });
    }
    document.addEventListener("pointermove", ({ clientX, clientY }) => {
      if (Math.hypot(clientX - left, clientY - top) > STILL) give();
    }, { signal: stop.signal });
  });
  // The click that ends a long press is none, be it on the card or on the menu under the finger.
  document.addEventListener("click", (event) => {
    const isPress = event.detail > 0;
    if (isLong && isPress) event.stopImmediatePropagation();
    isLong = false;
  }, true);
  document.addEventListener("keydown", (event) => {
    const button = card(event);
    const isAsked = event.key === "ContextMenu" || (event.key === "F10" && event.shiftKey);
    if (!button || !isAsked) return;
    event.preventDefault();
    const { left, bottom } = button.getBoundingClientRect();
    show(button, left, bottom);
  });
}

function open(menu, button, book, left, top) {
  const list = menu.firstElementChild;
  list.replaceChildren(...entries(book));
  list.setAttribute("aria-label", `“${book.title}”`);
  menu.hidden = false;
  const { width, height } = menu.getBoundingClientRect();
  const { clientWidth, clientHeight } = document.documentElement;
  menu.style.left = `${Math.max(Math.min(left, clientWidth - width - EDGE), EDGE)}px`;
  menu.style.top = `${Math.max(Math.min(top, clientHeight - height - EDGE), EDGE)}px`;
  list.firstElementChild.focus({ preventScroll: true });

  const stop = new AbortController();
  const close = (isBack) => {
    stop.abort();
    menu.hidden = true;
    if (isBack) button.focus({ preventScroll: true });
  };
  const listen = (place, name, act) => place.addEventListener(name, act, { signal: stop.signal });
  listen(menu, "click", () => close(true));
  listen(menu, "keydown", (event) => {
    const items = [...list.children];
    const next = {
      ArrowDown: items.indexOf(document.activeElement) + 1,
      ArrowUp: items.indexOf(document.activeElement) - 1, Home: 0, End: -1,
    }[event.key];
    if (next !== undefined) items.at(next % items.length).focus();
    if (event.key === "Escape" || event.key === "Tab") close(true);
    // From the card, Tab goes on.
    if (next !== undefined || event.key === "Escape") event.preventDefault();
  });
  // What was pressed beside it, or scrolled, has the focus.
  listen(document, "pointerdown", ({ target }) => { if (!menu.contains(target)) close(false); });
  listen(globalThis, "scroll", () => close(true));
  // Not by a browser's bar that comes and goes, which changes the height alone.
  const before = clientWidth;
  listen(globalThis, "resize", () => {
    if (document.documentElement.clientWidth !== before) close(true);
  });
}

function entries(book) {
  const entry = (words, act, more) => h("button", {
    role: "menuitem", tabindex: "-1", "data-act": act, "data-isbn": book.isbn, ...more,
  }, words);
  return [
    entry("Open", "book"),
    needsReview(book) && entry("It is right", "right"),
    entry("Raw JSON", "book", { "data-raw": "yes" }),
    entry("Delete", "delete", { class: "danger" }),
  ].filter(Boolean);
}
