// The views of `tern inspect --serve`: from what the program answers to elements.

import { bytes, count, countdown, h, moment, several } from "/kit.js";
import { empty, figure, notice, short, table } from "/parts.js";

const device = (stamp, names) => h("span", { title: stamp.replica },
  names?.[stamp.replica] ?? (stamp.isOwn ? "this device" : `device ${short(stamp.replica)}`));

const met = { counter: "of a counter", parentDeleted: "a parent deleted" };

const reasons = (counts, none) => Object.entries(counts).sort()
  .map(([kind, number]) => `${count(number)} ${kinds[kind]?.short ?? met[kind] ?? kind}`)
  .join(", ") || none;

// Overview.

export function overview(file, growth) {
  const sizes = `${bytes(file.sizes.database)} on the disk, and `
    + `${bytes(file.sizes.writeAheadLog)} in its write-ahead log`;
  return [
    h("p", { class: "quiet", "data-key": "sizes" }, `The file has ${sizes}.`),
    file.replicas.length ? null : empty("The file has a job queue, and no replica."),
    file.replicas.map((replica) => replicaCard(replica, growth[replica.name])),
  ].flat(Infinity).filter(Boolean);
}

function replicaCard(replica, growth) {
  const own = replica.authors.find((author) => author.id === replica.id)?.stored ?? 0;
  const accepted = replica.remotes.map((remote) => own - remote.accepted);
  const unpushed = accepted.length
    ? count(Math.max(0, ...accepted)) : `all ${count(own)}`;
  const added = growth && (growth.operations || growth.bytes)
    ? `${growth.operations < 0 ? "" : "+"}${count(growth.operations)}, ${bytes(growth.bytes)} `
      + "since this page was opened"
    : "no growth since this page was opened";
  return h("section", { class: "card stack", "data-key": replica.name, "aria-label":
    `Replica ${replica.name}` },
  h("div", { class: "row" }, h("h2", {}, "Replica ", h("span", { class: "value" }, replica.name)),
    h("span", { class: "mono quiet" }, replica.id ?? "damaged id")),
  h("dl", { class: "figures" },
    figure("Operations in the log", count(replica.log.operations),
      `${bytes(replica.log.bytes)}; ${added}`),
    figure("Not pushed yet", unpushed,
      accepted.length ? "own operations that a remote has not acknowledged"
        : "own operations; no remote is known"),
    figure("Not sealed yet", count(replica.unsealedChanges), "writes that no operation has"),
    figure("Quarantined", count(sum(replica.quarantined)), reasons(replica.quarantined, "no rows")),
    figure("Waiting operations", count(replica.pendingOperations.length),
      replica.pendingOperations.length ? "in the log, and not merged" : "all are merged"),
    figure("Conflicts met here", count(sum(replica.conflicts)),
      reasons(replica.conflicts, "none so far"))),
  table("Tables", ["name", "rows", "deleted", "quarantined", "not sealed", "too large"],
    replica.tables.map((item) => [
      [h("span", { class: "value" }, item.name), item.isSynced ? "" : " (no longer synced)"],
      item.aliveRows, item.deadRows, sum(item.quarantined), item.unsealedChanges, item.largeRows])),
  table("Devices", ["device", "in the log", "merged", "which"],
    replica.authors.map((author) => [
      { mono: author.id ?? "damaged" }, author.stored, author.merged,
      author.id === replica.id ? "this one" : "another"])),
  table("Remotes", ["space", "cursor", "acknowledged"],
    replica.remotes.map((remote) => [
      { mono: remote.id }, { mono: remote.cursor ?? "at the beginning" }, remote.accepted])),
  table("Operations that wait", ["device", "sequence", "for", "because"],
    replica.pendingOperations.map((item) => [
      { mono: short(item.replica) }, item.sequence, item.reason, item.detail])),
  table("Copies of this database", ["device", "from", "another one at"],
    replica.forks.map((fork) => [{ mono: short(fork.replica) }, fork.sequence,
      { mono: fork.remote }])),
  h("p", { class: "quiet" },
    `Schema version ${replica.schemaVersion}; Tern's tables have format ${replica.format}. `,
    replica.lastTimeMilliseconds
      ? ["The newest write is of ", moment(replica.lastTimeMilliseconds)] : "Nothing was written",
    replica.clockCorrectionMilliseconds
      ? `; this device's clock is corrected by ${count(replica.clockCorrectionMilliseconds)} ms.`
      : "."));
}

const sum = (counts) => Object.values(counts).reduce((all, number) => all + number, 0);

// Jobs.

const groups = [
  ["failed", "Dead", "bad", "No further attempt is made until somebody retries it."],
  ["parked", "Parked", "bad", "No handler knows it, or its process died each time that it ran."],
  ["running", "Running", "note"], ["waiting", "Waiting", ""], ["done", "Done", "good"],
  ["cancelled", "Cancelled", ""],
];

export function jobs(file) {
  if (file.jobsRefusal) return [notice("The job queue can't be shown.", file.jobsRefusal)];
  if (!file.jobs) return [empty("The file has no job queue.")];
  const { list, counts, gates } = file.jobs;
  const shown = groups.filter(([state]) => counts[state]);
  return [
    gates.length ? h("section", { class: "card stack", "data-key": "gates" },
      h("h2", {}, "Closed gates"), h("ul", { class: "stack" }, gates.map(gate))) : null,
    shown.length ? null : empty("The queue is empty."),
    shown.map(([state, title, tone, why]) => {
      const some = list.filter((job) => job.state === state).reverse();
      const rest = counts[state] - some.length;
      return h("section", { class: "stack", "data-key": state },
        h("h2", {}, `${title} (${count(counts[state])})`),
        why && h("p", { class: "quiet" }, why),
        h("ul", { class: "stack" }, some.map((job) => jobCard(job, tone, file.allowsChanges))),
        rest > 0 && h("p", { class: "quiet" }, `The newest are shown; ${count(rest)} more are not.`));
    }),
  ].flat(Infinity).filter(Boolean);
}

const gate = (item) => h("li", { "data-key": item.service },
  h("strong", { class: "value" }, item.service),
  item.probe ? `: job ${item.probe} tries it now` : [" takes work again ",
    countdown(item.reopensAt, "with the next try")]);

function jobCard(job, tone, allowsChanges) {
  const about = [job.service && `service ${job.service}`, job.lane && `lane ${job.lane}`,
    several(job.starts, "start"), job.failures ? several(job.failures, "failed attempt") : null,
  ].filter(Boolean).join(" · ");
  const name = `job ${job.id}, ${job.kind}`;
  return h("li", { class: "card job", "data-key": job.id },
    h("div", { class: "stack" },
      h("p", { class: "row" }, h("strong", { class: "value" }, job.kind),
        h("span", { class: `tag ${tone}` }, job.state), h("span", { class: "quiet number" },
          `job ${job.id}`)),
      job.waits && h("p", {}, "Waits for ", h("span", { class: "value" }, job.waits),
        job.until && [": ", countdown(job.until, "any moment now")]),
      job.reason && h("p", { class: "value" }, job.reason),
      job.message && h("p", { class: "value" }, job.message),
      job.state === "running" && job.progress !== null && job.progress !== undefined
        && h("progress", { class: "bar", max: 1, value: job.progress,
          "aria-label": `Progress of ${name}` }),
      h("p", { class: "quiet" }, about, " · ", job.state, " since ", moment(job.since))),
    allowsChanges && !job.hasEnded && h("div", { class: "row" },
      job.isStuck && h("button", { type: "button", class: "primary", "data-act": "retry",
        "data-job": job.id, "aria-label": `Retry ${name}` }, "Retry"),
      h("button", { type: "button", class: "danger", "data-act": "cancel", "data-job": job.id,
        "aria-label": `Cancel ${name}` }, "Cancel")));
}

// The inbox.

const kinds = {
  lastWriter: { title: "Two devices wrote it", why: "The later write stands.",
    short: "by the later write" },
  sameKey: { title: "Two devices inserted it", why: "The later insert stands.",
    short: "rows of the same key" },
  deleteWins: { title: "Deleted, and changed elsewhere",
    why: "The delete stands: it covers changes that it had not seen.", short: "by a delete" },
  banned: { title: "Written by a banned device", why: "An operator banned the device.",
    short: "banned" },
  displaced: { title: "Its place is taken",
    why: "A row that was created earlier has the same value in a UNIQUE index.",
    short: "displaced" },
  folded: { title: "Shown as one with another row",
    why: "Another row has its place in a UNIQUE index.", short: "folded" },
  orphaned: { title: "Its parent is deleted", why: "A row that it refers to is deleted.",
    short: "orphaned" },
  parentMissing: { title: "Its parent is missing",
    why: "A row that it refers to has not come, or is not shown itself.",
    short: "without their parent" },
  veiled: { title: "Shown without its parent", why: "A row that it refers to is deleted.",
    short: "veiled" },
  refused: { title: "Its table refuses it", why: "A constraint of the table fails: CHECK, NOT NULL "
    + "or another one.", short: "refused" },
  incomplete: { title: "Not all of it has come", why: "Changes came before the row's insert.",
    short: "incomplete" },
  removal: { title: "Its table does not let it go",
    why: "It is deleted, and an expression of the app's fails.", short: "to be removed" },
};

export function inbox(file, boxes) {
  return file.replicas.flatMap((replica) => {
    const box = boxes[replica.name];
    if (!box) return [];
    if (box.message) return [notice(`The inbox of ${replica.name} can't be read.`, box.message)];
    const title = file.replicas.length > 1 ? ` of ${replica.name}` : "";
    const part = (name, isRow, none) => {
      const entries = box.entries.filter((entry) => entry.isRow === isRow);
      return h("section", { class: "stack", "data-key": `${replica.name} ${isRow}` },
        h("h2", {}, `${name}${title} (${count(entries.length)})`),
        entries.length
          ? h("ul", { class: "stack" }, entries.map((entry) =>
            entryCard(entry, replica.name, file.allowsChanges)))
          : empty(none));
    };
    return [
      part("Values that lost", false, "No write has lost against another one here."),
      part("Quarantined rows", true, "Every row is in its table."),
      box.isCut ? h("p", { class: "quiet" }, "There are more, which are not shown.") : null,
    ].filter(Boolean);
  });
}

const keyText = (key) => key.map((value) => value.text).join(", ");

export const rowAddress = (replica, name, key) =>
  `#/row/${[replica, name, ...key].map(encodeURIComponent).join("/")}`;

function entryCard(entry, replica, allowsChanges) {
  const kind = kinds[entry.kind] ?? { title: entry.kind, why: "" };
  const name = `${entry.table} ${keyText(entry.key)}`;
  const side = (title, stamp, column, none) => h("div", { class: `side ${column === "value"
    ? "lost" : "stands"}` },
  h("h4", {}, title), h("p", { class: "quiet" }, stamp ? [device(stamp), ", ",
    moment(stamp.milliseconds)] : none),
  entry.values.some((item) => item[column])
    ? h("dl", { class: "pair" }, entry.values.map((item) => [
      h("dt", { class: "value" }, item.name), h("dd", {}, value(item[column]))]))
    : h("p", {}, "The table has no such row."));
  return h("li", { class: "card stack", "data-key": entry.id },
    h("div", { class: "row" }, h("h3", { class: "value" }, name),
      h("span", { class: "tag note" }, kind.title)),
    h("p", {}, kind.why, entry.rows.length
      ? [entry.kind === "displaced" || entry.kind === "folded" ? " That is " : " That is missing: ",
        h("span", { class: "value" }, entry.rows.map(reference).join("; ")), "."]
      : null),
    h("div", { class: "versus" },
      side(entry.isRow ? "Kept out of the table" : "Lost", entry.loser, "value",
        "in no operation yet"),
      entry.isRow ? null : side("Stands now", entry.winner, "shown", "nobody's write")),
    h("div", { class: "row" },
      entry.canRestore && allowsChanges && h("button", { type: "button", class: "primary",
        "data-act": "restore", "data-entry": entry.id, "data-replica": replica,
        "aria-label": `Restore what ${name} lost` }, "Restore what lost"),
      h("a", { class: "button", href: rowAddress(replica, entry.table,
        entry.key.map((part) => part.text)), "aria-label": `Why ${name} is as it is` },
      "Why, and its history"),
      entry.found && h("span", { class: "quiet" }, "met here ", moment(entry.found))));
}

const reference = (row) => `${row.table} with ${row.columns.map((name, index) =>
  `${name} = ${row.values[index].text}`).join(", ")}`;

function value(item) {
  if (!item) return h("span", { class: "quiet" }, "nothing");
  if (item.kind === "null") return h("span", { class: "quiet" }, "NULL");
  if (item.text === "") return h("span", { class: "quiet" }, "an empty text");
  return [h("span", { class: item.kind === "text" ? "value" : "value mono" }, item.text),
    item.cut ? h("span", { class: "quiet" }, ` … and ${count(item.cut)} more characters`) : null];
}

// One row.

export function row(file, asked, answer) {
  const parts = [finder(file, asked)];
  if (!asked) {
    parts.push(empty("Name a row by its table and its primary key, or follow a link in the inbox."));
  } else if (answer?.message) {
    parts.push(notice("The row can't be shown.", answer.message));
  } else if (answer) {
    parts.push(standing(answer), timeline(answer));
  }
  return parts.filter(Boolean);
}

function finder(file, asked) {
  const tables = file.replicas.flatMap((replica) => replica.tables.filter((item) => item.isSynced)
    .map((item) => [replica.name, item.name]));
  const key = asked?.key ?? [""];
  return h("form", { id: "find", class: "card find", "data-key": "find" },
    h("div", {}, h("label", { for: "table" }, "Table"),
      h("select", { id: "table", name: "table" }, tables.map(([replica, name]) => h("option", {
        value: JSON.stringify([replica, name]),
        selected: asked?.replica === replica && asked?.table === name,
      }, file.replicas.length > 1 ? `${name} (${replica})` : name)))),
    key.map((text, index) => h("div", {},
      h("label", { for: `key${index}` }, key.length > 1 ? `Key, column ${index + 1}` : "Key"),
      h("input", { id: `key${index}`, name: "key", value: text, autocomplete: "off",
        spellcheck: "false" }))),
    h("div", { class: "row" },
      h("button", { class: "primary" }, "Show the row"),
      h("button", { type: "button", "data-act": "widen" }, "Add a key column")));
}

function standing({ explanation, isUnsealed }) {
  return h("section", { class: "card stack", "data-key": "standing" },
    h("h2", { class: "value" }, `${explanation.table} ${explanation.key.join(", ")}`),
    h("p", {}, h("strong", { class: "value" }, `It is ${explanation.standing}.`)),
    isUnsealed && h("p", {}, "The row was written since the last seal. No operation has that yet."),
    explanation.isTooLarge && h("p", {}, "It is too large to travel as it was written here last."),
    explanation.pendingChanges > 0
      && h("p", {}, `${several(explanation.pendingChanges, "change")} in the log wait.`),
    table("Columns", ["name", "value", "rule", "written by"], explanation.columns.map((column) => [
      h("span", { class: "value" }, column.name),
      h("span", { class: "value" }, column.value === undefined ? "nothing kept"
        : column.value === null ? "NULL" : String(column.value)),
      column.rule,
      column.writtenBy ? [device(column.writtenBy), ", ", moment(column.writtenBy.milliseconds)]
        : "nobody: at its default"])));
}

function timeline({ explanation, changes, isCut }) {
  const outcomes = new Map();
  for (const column of explanation.columns) {
    for (const write of column.writes) {
      outcomes.set(`${write.by.replica} ${write.sequence} ${column.name}`, write);
    }
  }
  const verbs = { insert: "Inserted", update: "Changed", delete: "Deleted" };
  return h("section", { class: "card stack", "data-key": "timeline" },
    h("h2", {}, "History, the earliest first"),
    changes.length ? h("ol", { class: "timeline" }, changes.map((change) => {
      const columns = change.columns.map((column) => ({
        ...column, write: outcomes.get(`${change.by.replica} ${change.sequence} ${column.name}`),
      }));
      const lost = columns.length > 0
        && columns.every(({ write }) => write?.outcome.startsWith("beaten"));
      return h("li", { class: lost ? "stack lost" : "stack",
        "data-key": `${change.by.replica} ${change.sequence}` },
      h("p", { class: "row" }, h("strong", {}, verbs[change.kind] ?? change.kind),
        h("span", {}, "by ", device(change.by), change.member ? ` of ${change.member}` : ""),
        moment(change.by.milliseconds),
        change.isMerged ? null : h("span", { class: "tag bad" }, "not merged yet")),
      h("ul", {}, columns.map((column) => h("li", { class: "row" },
        h("span", { class: "value" }, `${column.name}: ${column.content}`),
        column.write && h("span", { class: column.write.outcome.startsWith("beaten") ? "tag"
          : "tag good" }, column.write.outcome, column.write.isConcurrent
          && column.write.outcome.startsWith("beaten") && " that did not know it")))));
    })) : h("p", { class: "quiet" }, "The log has no change of this row."),
    isCut && h("p", { class: "quiet" }, "There are more changes, which are not shown."));
}
