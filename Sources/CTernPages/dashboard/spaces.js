// The views of a server's dashboard: from what it answers to elements.

import { bytes, count, h, moment, several } from "./kit.js";
import { empty, figure, short, table } from "./parts.js";

export const spaceAddress = (name) => `#/space/${encodeURIComponent(name)}`;

const listAddress = (after) => (after ? `#/spaces/${encodeURIComponent(after)}` : "#/spaces");

const phases = {
  leaving: "leaving for another store", frozen: "frozen for a move", moved: "moved to another store",
  arriving: "arriving from another store",
};

/** What an operator should know first, if it isn't simply served. */
function tags(space) {
  const tag = (tone, words) => h("span", { class: `tag ${tone}` }, words);
  return [
    space.damaged && tag("bad", "damaged"), space.suspended && tag("bad", "suspended"),
    phases[space.phase] && tag("note", phases[space.phase]),
    fullness(space) >= 0.9 && tag("bad", "almost full"),
  ].filter(Boolean);
}

/** The share of its quota that a space uses, of what it has a quota for. */
function fullness({ quota, bytes: used, operations }) {
  return Math.max(0, quota?.bytes ? used / quota.bytes : 0,
    quota?.operations ? operations / quota.operations : 0);
}

/** What came since the page first showed it. */
function growth(space, first) {
  const pushed = space.position - first.position;
  return pushed ? `+${count(pushed)}` : "none";
}

const limit = (value, words) => (value ? `of ${words(value)}` : "no quota of its own");

// All spaces.

/** `first` has each space as it was when the page first showed it, by name. */
export function list({ spaces, more }, after, first) {
  const find = h("form", { class: "card find", "data-key": "find", "data-act": "find" },
    h("label", {}, "Space", h("input", {
      name: "space", autocomplete: "off", spellcheck: "false", required: true,
    })),
    h("button", {}, "Show the space"));
  const rows = spaces.map((space) => {
    const name = h("a", { href: spaceAddress(space.name), class: "value" }, space.name);
    if (space.damaged) return [name, "", "", "", [tags(space), " ", space.damaged]];
    return [name, space.operations, bytes(space.bytes), growth(space, first.get(space.name)),
      [tags(space), tags(space).length ? "" : "served"]];
  });
  return [
    h("h2", { "data-key": "heading" }, "Spaces"),
    find,
    table("By name", ["name", "operations", "stored", "new", "state"], rows)
      ?? empty(after ? "No space has a later name." : "The server has no spaces."),
    h("p", { class: "quiet", "data-key": "new" },
      "New is what devices pushed since this page first showed the space."),
    after || more ? h("nav", { class: "row", "data-key": "pages", "aria-label": "Pages" },
      after && h("a", { class: "button", href: listAddress("") }, "First spaces"),
      more && h("a", { class: "button", href: listAddress(spaces.at(-1).name) }, "Next spaces"))
      : null,
  ].filter(Boolean);
}

// One space.

export function space({ space: about, horizon, replicas, tokens, snapshots }, first) {
  return [
    h("section", { class: "card stack", "data-key": "space", "aria-labelledby": "name" },
      h("div", { class: "row" },
        h("h2", { id: "name" }, "Space ", h("span", { class: "value" }, about.name)), tags(about)),
      about.suspended && h("p", {}, "No device reads or writes it since ", moment(about.suspended),
        "."),
      h("dl", { class: "figures" },
        figure("Stored operations", count(about.operations),
          limit(about.quota.operations, count)),
        figure("Stored", bytes(about.bytes),
          `operations and snapshots; ${limit(about.quota.bytes, bytes)}`),
        figure("Newest position", count(about.position),
          `${growth(about, first)} since this page first showed it`),
        figure("Trimmed up to", count(horizon.trimmed),
          horizon.snapshot ? `a snapshot holds everything up to ${count(horizon.snapshot)}`
            : "no snapshot stands for operations"),
        figure("Trimmed and not removed yet", bytes(about.keptBytes),
          "an operator can bring it back; no quota counts it"),
        figure("Devices", count(replicas.length),
          limit(about.quota.authors, (most) => `at most ${count(most)}`))),
      h("p", {}, waitsFor(horizon, about.position))),
    devices(about, horizon, replicas),
    table("Tokens", ["id", "member", "label", "made", "expires"], tokens.map((token) => [
      { mono: token.id }, token.member ?? "", token.label ?? "", moment(token.created),
      token.expires ? moment(token.expires) : "never"])) ?? empty("The space has no tokens."),
    table("Snapshots", ["id", "holds up to", "size", "state"], snapshots.map((item) => [
      { mono: item.id }, item.position, bytes(item.bytes), stateOf(item)]))
      ?? empty("The space has no snapshots."),
  ];
}

/** Whom the space waits for before it trims. */
function waitsFor({ readers }, position) {
  const last = readers[0];
  if (!last) return "No device holds operations back from being trimmed.";
  const behind = position - last.position;
  const name = ["Device ", h("span", { class: "mono", title: last.replica }, short(last.replica)),
    last.member && [" of ", h("span", { class: "value" }, last.member)]];
  if (!behind) return "Every device that counts has read everything.";
  return [name, ` has read least: it is ${several(behind, "operation")} behind. The space waits for it`,
    " before it trims those."];
}

/** Those that the space waits for, who has read least first; then the others. */
function devices(about, { readers }, replicas) {
  const written = Object.fromEntries(replicas.map((item) => [item.replica, item]));
  const reading = new Set(readers.map(({ replica }) => replica));
  const rows = readers.map(({ replica, member, position, renewed }) => [
    { mono: replica }, member ?? "", written[replica]?.sequence ?? 0, position,
    about.position - position, moment(renewed), stateOfDevice(written[replica] ?? {})]);
  for (const item of replicas.filter(({ replica }) => !reading.has(replica))) {
    rows.push([{ mono: item.replica }, item.member ?? "", item.sequence, "not held", "", "",
      stateOfDevice(item)]);
  }
  const names = ["device", "member", "wrote", "read up to", "behind", "last heard", "state"];
  return table("Devices", names, rows) ?? empty("No device has written or read here.");
}

function stateOfDevice({ bannedAfter, admitted, brought }) {
  if (bannedAfter !== undefined) {
    return h("span", { class: "tag bad" }, `banned after ${count(bannedAfter)}`);
  }
  if (admitted !== undefined) return `admitted up to ${count(admitted)}`;
  if (!brought) return "";
  const range = `${count(brought.first)} to ${count(brought.last)}`;
  return `${range} brought by ${brought.member ?? "others"}`;
}

function stateOf(snapshot) {
  if (snapshot.refusal) {
    return [h("span", { class: "tag bad" }, "refused"), " ",
      h("span", { class: "value" }, snapshot.refusal)];
  }
  if (!snapshot.isComplete) return ["being uploaded since ", moment(snapshot.touched)];
  return snapshot.isBase ? "the base of the space" : "complete";
}
