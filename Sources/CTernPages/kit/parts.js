// What the pages show that look inside: sentences, figures and tables.

import { count, h } from "./kit.js";

/** The beginning of a replica's id. */
export const short = (id) => (id ? `${id.slice(0, 8)}…` : "damaged");

/** What the program says, as a sentence. It may begin with a file's name, which stays as it is. */
const sentence = (text) => {
  const whole = /^[a-z]+ /.test(text) ? text[0].toUpperCase() + text.slice(1) : text;
  return /[.!?]$/.test(whole) ? whole : `${whole}.`;
};

export function notice(message, detail) {
  return h("div", { class: "notice bad stack", "data-key": "notice" },
    h("p", {}, h("strong", {}, sentence(message))), detail && h("p", {}, sentence(detail)));
}

export const empty = (text) => h("p", { class: "card quiet", "data-key": text }, text);

export function figure(name, value, detail) {
  return h("div", {}, h("dt", {}, name), h("dd", { class: "number" }, value),
    detail && h("dd", { class: "quiet" }, detail));
}

export function table(caption, columns, rows) {
  if (!rows.length) return null;
  const isNumber = (cell) => typeof cell === "number";
  return h("div", { "data-key": caption },
    h("h3", {}, caption),
    // It scrolls by itself where it is too wide, and then by the keyboard too.
    h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption },
      // On a phone rows are blocks, which are no table by themselves.
      h("table", { role: "table" },
        h("thead", { role: "rowgroup" }, h("tr", { role: "row" }, columns.map((name, index) =>
          h("th", { role: "columnheader", scope: "col",
            class: rows.every((row) => isNumber(row[index])) ? "number" : null }, name)))),
        h("tbody", { role: "rowgroup" }, rows.map((row) => h("tr", { role: "row" },
          row.map((cell, index) => h("td", {
            role: "cell", "data-label": columns[index],
            class: isNumber(cell) ? "number" : cell?.mono ? "mono" : null,
          }, h("span", {}, isNumber(cell) ? count(cell) : cell?.mono ?? cell)))))))));
}
