// The library: what is looked for, and the books as a grid.

import { needsReview } from "/book.js";
import { bytes, count, h, morph, several } from "/kit.js";

const orders = [["added", "Newest first"], ["title", "Title"], ["author", "Author"],
  ["sure", "Least sure first"]];

/** All but the cards, which `fill` puts into the grid. */
export function library({ asked, books, file }) {
  return [tools(asked, file), ...shelf(asked, books, file), tables(file), use(file)].filter(Boolean);
}

/** What a card in the grid shows. */
const drawn = new WeakMap();

/** Puts the books' cards into the grid. One that shows the same already stays as it is.
 * @param covers gives the address of a cover's picture, once there is one. */
export function fill(grid, books, inConflict, covers) {
  const present = new Map([...grid.children].map((old) => [old.dataset.key, old]));
  morph(grid, books.map((book) => {
    const parts = [book, covers.get(book.coverURL), inConflict.includes(book.isbn)];
    const shows = JSON.stringify(parts);
    const old = present.get(book.isbn);
    if (old && drawn.get(old) === shows) return old;
    const made = card(...parts);
    // An old one takes over what a new one shows.
    for (const element of [old, made]) if (element) drawn.set(element, shows);
    return made;
  }));
}

function tools(asked, file) {
  return h("form", { class: "tools", role: "search", "data-key": "tools" },
    h("div", { class: "wide" }, h("label", { for: "text" }, "Search"),
      h("input", { id: "text", type: "search", autocomplete: "off", spellcheck: "false",
        placeholder: "Title, author or ISBN" })),
    h("div", {}, h("label", { for: "order" }, "Order"),
      h("select", { id: "order" }, orders.map(([value, name]) => h("option", { value }, name)))),
    h("button", { type: "button", "data-act": "review",
      "aria-pressed": asked.review ? "true" : "false" },
    `Needs review: ${count(file.toReview)}`));
}

function tables(file) {
  return h("p", { class: "row", "data-key": "tables" },
    file.books > 0 && h("button", { "data-act": "export" }, "Export CSV"),
    h("label", { class: "button" }, "Import CSV",
      h("input", { id: "table", type: "file", accept: ".csv,text/csv" })));
}

/** What the covers take on this machine. */
function use({ coverBytes, mostCoverBytes }) {
  return coverBytes > 0 && h("p", { class: "row quiet", "data-key": "use" },
    h("span", {}, `Covers kept here: ${bytes(coverBytes)} of ${bytes(mostCoverBytes)}`),
    h("button", { "data-act": "clearCovers" }, "Clear covers"));
}

function shelf(asked, books, file) {
  if (!books) return [h("p", { class: "quiet", "data-key": "first" }, "Reading the library…")];
  if (!file.books) {
    return [h("div", { class: "empty", "data-key": "none" },
      h("h2", {}, "No books yet"),
      h("p", { class: "quiet" }, "Photograph a shelf, and the books on it appear here."),
      h("a", { class: "button primary", href: "#/capture" }, "Go to the photos"))];
  }
  if (!books.count) {
    return [h("div", { class: "empty", "data-key": "no-match" },
      h("h2", {}, "No such book"),
      h("p", { class: "quiet" }, asked.text
        ? "The search looks for beginnings of words in titles and authors, and for ISBNs."
        : "Every book was found with certainty, or looked at by a person."))];
  }
  const rest = books.count - books.books.length;
  return [
    h("h2", { "data-key": "count" }, asked.text || asked.review
      ? `${several(books.count, "book")} of ${count(file.books)}` : several(books.count, "book")),
    h("ul", { id: "grid", class: "grid", "data-key": "grid", "data-own": true }),
    rest > 0 && h("button", { "data-act": "more", "data-key": "more" },
      `Show more: ${count(rest)} left`),
  ].filter(Boolean);
}

function card(book, picture, hasTwoVersions) {
  return h("li", { class: "book", "data-key": book.isbn },
    h("button", { class: picture ? "cover pictured" : "cover", "data-act": "book", "data-isbn": book.isbn },
      picture && h("img", { src: picture, alt: "", "data-key": "picture" }),
      h("strong", { class: "value", "data-key": "title" }, book.title),
      h("span", { class: "value", "data-key": "author" }, book.author ?? "")),
    h("p", { class: "facts" },
      hasTwoVersions && h("span", { class: "review" }, "two versions"),
      needsReview(book) && h("span", { class: "review" }, "review"),
      h("span", { class: "number" }, `${Math.round(book.confidence * 100)} % sure`),
      book.timesScanned > 1 && h("span", { class: "number quiet" },
        `seen ${several(book.timesScanned, "time")}`)));
}
