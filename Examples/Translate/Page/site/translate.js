// The page of `translate serve`: asks the program, shows its answers, and follows what changes.

import { announce, confirmed, h, morph, Program, Refusal } from "/kit.js";
import * as gestures from "/gestures.js";
import { icon } from "/icons.js";
import * as history from "/history.js";
import * as languages from "/languages.js";
import * as listen from "/listen.js";
import * as settings from "/settings.js";
import * as talk from "/talk.js";
import { dismiss, toast, undoing } from "/toasts.js";
import { has, load, nameOf, number, t } from "/words.js";
import * as voice from "/voice.js";
import * as welcome from "/welcome.js";

// The program keeps its token, and so does the browser: a page that is opened later is let in.
const program = new Program(localStorage);
const part = (id) => document.getElementById(id);
const main = part("main");

const state = {
  now: null, failure: null, isLive: false,
  // The languages of the next question, and what was known of whose turn it is when they were chosen.
  pair: null, turn: null, turns: sessionStorage.getItem("turns") === "on",
  pronunciations: {}, refusals: {},
  // When a question was asked here; null once it had to wait for something else.
  asked: new Map(), answeredAt: 0,
  // What was answered while somebody looked.
  fresh: new Set(),
  history: null, search: "",
  // When the answer that is asked for now is likely to be there.
  expected: null,
  // The conversation that `now` is about, and the step of the introduction.
  shown: null, step: 0, microphone: "",
  // `idle`, `recording` or `processing`; who listens, and what went wrong with it.
  recording: "idle", recorder: null, speechFailure: null,
};

// The view is in the address, so that the browser's own way back works.
function place() {
  const [, view, id] = location.hash.split("/");
  return { view: view || "talk", talk: view === "talk" && id ? decodeURIComponent(id) : null };
}

// Asking.

async function look() {
  const asked = place();
  const now = await program.get("state", asked.talk ? { talk: asked.talk } : {});
  const found = asked.view === "history"
    ? await program.get("history", { search: state.search }) : null;
  if (await load(now.settings.language)) build();
  // Somebody may have gone elsewhere meanwhile.
  if (asked.talk !== place().talk || asked.view !== place().view) return;
  state.history = found;
  settings.dress(now.settings);
  // Who never asked anything here is shown around, once.
  if (!state.now && now.settings.welcomed === "off" && !now.recents.length && !asked.talk) {
    location.hash = "#/welcome";
  }
  tell(state.now, now);
  state.expected = expect(now);
  Object.assign(state, { now, failure: null, shown: asked.talk });
  const turn = JSON.stringify(now.talk ?? [now.settings.from, now.settings.to]);
  if (!state.pair || turn !== state.turn) choosePair(now, turn);
}

function choosePair(now, turn) {
  const { talk: row, settings } = now;
  const kept = JSON.parse(sessionStorage.getItem("pair") ?? "null");
  if (row) {
    changePair(row.isFarsTurn ? { from: row.far, to: row.near } : { from: row.near, to: row.far });
  } else {
    changePair(kept ?? { from: settings.from, to: settings.to });
  }
  state.turn = turn;
}

/** That the sides change is seen for a moment. */
function changePair(pair) {
  const old = state.pair;
  state.pair = pair;
  if (!old || pair.from !== old.to || pair.to !== old.from) return;
  main.classList.remove("swapped");
  // Looked at in between, so that it begins again where it still runs.
  main.getBoundingClientRect();
  main.classList.add("swapped");
}

/** Says what came, to whoever does not look, and speaks what was asked here. */
function tell(old, now) {
  const isSame = old?.talk?.id === now.talk?.id;
  if (now.standing.state !== "asking") for (const id of state.asked.keys()) state.asked.set(id, null);
  const waited = new Set(isSame ? old?.entries.filter((one) => one.state === "waiting")
    .map(({ id }) => id) : []);
  for (const entry of now.entries) {
    if (entry.state === "waiting") continue;
    const began = state.asked.get(entry.id);
    const isAsked = state.asked.delete(entry.id);
    if (!isAsked && !waited.has(entry.id)) continue;
    const isDone = entry.state === "done";
    if (isDone) state.fresh.add(entry.id);
    if (isDone && began) count(began, now);
    state.answeredAt = Date.now();
    announce(isDone ? `${nameOf(entry.to)}: ${entry.translation}` : talk.problem(entry));
    // Once it is shown.
    if (isDone && isAsked && now.settings.speak === "on") setTimeout(() => acts.play(entry));
  }
}

/** From fewer answers nothing follows, and from older ones nothing for today. */
const [fewest, most] = [3, 20];

const answerTimes = () => JSON.parse(localStorage.getItem("took") ?? "{}");

/** How long an answer took, by its service: from the question, or the answer before it. */
function count(began, { settings: { service } }) {
  const [all, now] = [answerTimes(), Date.now()];
  const took = now - Math.max(began, state.answeredAt);
  all[service] = [...all[service] ?? [], took].slice(-most);
  localStorage.setItem("took", JSON.stringify(all));
}

/** An answer is likely to be there after as long as the last ones of the service took. */
function expect({ settings: { service }, asking, since, standing }) {
  const took = (answerTimes()[service] ?? []).toSorted((one, other) => one - other);
  if (!asking || standing.state !== "asking" || took.length < fewest) return null;
  return { since, until: since + took[Math.floor(took.length / 2)] };
}

let [isLooking, isStale, again] = [false, false, 0];

/** One question at a time, and the next not before a while that grows with what the last one took. */
async function refresh() {
  isStale = true;
  if (isLooking) return;
  isLooking = true;
  try {
    while (isStale) {
      isStale = false;
      const began = performance.now();
      await lookOnce();
      const took = performance.now() - began;
      await new Promise((resolve) => { setTimeout(resolve, Math.min(took * 2, 2000)); });
    }
  } finally {
    isLooking = false;
  }
  // What failed is asked again without news.
  clearTimeout(again);
  if (state.failure) again = setTimeout(refresh, 2000);
}

async function lookOnce() {
  const failed = state.failure?.message;
  try {
    await look();
    if (failed) announce(t("back"));
  } catch (error) {
    state.failure = error;
    if (failed !== error.message) announce(refusal(error));
  }
  show();
}

/** What the program says, in the reader's words where the page has some. */
const refusal = (error) => (has(`refused.${error.code}`) ? t(`refused.${error.code}`, error.message)
  : error.status === 401 ? t("refused.token") : error.message);

// Showing.

const views = [["talk", "new", "plus"], ["history", "history", "history"],
  ["favorites", "favorites", "star"], ["settings", "settings", "gears"]];

function header() {
  const { view } = place();
  return [
    h("div", { class: "row brand" },
      h("img", { src: "/icon.svg", alt: "", width: 32, height: 32 }),
      h("h1", {}, t("title")),
      h("p", { class: "row quiet state" },
        h("span", { class: state.isLive && !state.failure ? "beat on" : "beat", "aria-hidden": "true" }),
        state.isLive && !state.failure ? t("live") : t("notLive"))),
    h("nav", { "aria-label": t("views") }, h("ul", { class: "row" },
      views.map(([name, title, sign]) => h("li", {}, h("a", {
        class: "button", href: `#/${name === "talk" ? "" : name}`,
        "aria-current": name === view && "page",
      }, icon(sign), h("span", { class: "name" }, t(title))))),
      h("li", {}, h("button", { type: "button", "data-act": "undo" }, icon("undo"),
        h("span", { class: "name" }, t("undo")))))),
  ];
}

function notices() {
  const { failure, now } = state;
  const all = [];
  if (failure) {
    all.push(h("div", { class: "notice bad stack", "data-key": "failure" },
      h("p", {}, h("strong", {}, refusal(failure))),
      failure.code === "gone" && h("p", {}, t("gone.next"), " ", h("code", {}, "translate serve"))));
  }
  if (now?.interpreter === "missing") {
    all.push(h("div", { class: "notice stack", "data-key": "missing" },
      h("p", {}, h("strong", {}, t("noService"))),
      h("p", {}, t("noService.next"), " ",
        h("code", {}, "apt-get install apertium apertium-eng-spa apertium-fr-es"))));
  }
  if (now?.sync?.error) {
    all.push(h("p", { class: "notice value", "data-key": "sync" }, t("notSynced", now.sync.error)));
  }
  return all;
}

function content() {
  const { now, pair } = state;
  if (!now || (place().view === "talk" && state.shown !== place().talk)) {
    return [...notices(), state.failure ? null
      : h("p", { class: "quiet", "data-key": "first" }, t("opening"))].filter(Boolean);
  }
  const { view } = place();
  if (view === "history") {
    return [h("h2", { "data-key": "title" }, t("history")), ...notices(),
      ...state.history ? history.history(state.history, state.search, now.favorites) : []];
  }
  if (view === "favorites") {
    return [h("h2", { "data-key": "title" }, t("favorites")), ...notices(),
      ...history.favorites(now.favorites)];
  }
  if (view === "welcome") return [...notices(), ...welcome.screen(state.step, now, state.microphone)];
  if (view === "settings") {
    return [h("h2", { "data-key": "title" }, t("settings")), ...notices(),
      ...settings.screen(now, voice.stored())];
  }
  return [languages.bar(pair, now), ...notices(), ...talk.screen(now, state, voice.playing()),
    state.speechFailure && talk.speechFailure(state.speechFailure)].filter(Boolean);
}

function show() {
  if (gestures.isHeld()) return;
  morph(part("top"), header());
  const isAtEnd = innerHeight + scrollY >= document.documentElement.scrollHeight - 80;
  morph(main, content());
  part("bottom").hidden = place().view !== "talk" || !state.now;
  const title = views.find(([name]) => name === place().view);
  document.title = `${t(title && title[0] !== "talk" ? title[1] : "title")} – translate`;
  languages.refresh(state);
  compose();
  // What somebody chose in one is the browser's; what came from elsewhere is not in it yet.
  for (const field of document.querySelectorAll("[data-choose]")) {
    if (field !== document.activeElement) field.value = state.now.settings[field.dataset.choose];
  }
  // What comes is followed, unless somebody reads further up.
  if (place().view === "talk" && isAtEnd) scrollTo(0, document.documentElement.scrollHeight);
}

/** Whoever moved along the line of what was spoken finds the focus on the button beside it. */
function showSpeech() {
  const { activeElement: line } = document;
  const card = line?.id === "position" ? line.closest(".entry") : null;
  show();
  if (card && !line.isConnected) card.querySelector("[data-act=play]")?.focus();
}

/** Once for each language of the words, so that no text that is typed is lost. */
function build() {
  part("skip").textContent = t("skip");
  part("toasts").setAttribute("aria-label", t("messages"));
  const typed = part("text")?.value ?? sessionStorage.getItem("draft") ?? "";
  part("bottom").replaceChildren(talk.composer(state.turns));
  part("text").value = typed;
}

function compose() {
  const field = part("text");
  if (!field) return;
  const length = talk.length(field.value);
  part("count").textContent = t("count", number(length), number(talk.longest));
  part("count").hidden = length < 0.8 * talk.longest;
  const isTooLong = length > talk.longest;
  field.setAttribute("aria-invalid", isTooLong);
  part("send").ariaDisabled = isTooLong || !field.value.trim() ? "true" : null;
  part("too-long").textContent = isTooLong ? t("tooLong") : "";
  if (!state.now || !state.pair) return;
  const { from } = state.pair;
  morph(part("speech"), talk.speech(state.recording, listen.understands(from, state.now),
    state.now.hears.includes(from), from, state.now.entries.some((entry) => entry.state === "done")));
  part("wave").hidden = state.recording !== "recording";
}

// Acting.

const entryOf = (id) => [...state.now.entries, ...state.history ?? []]
  .find((entry) => entry.id === id);

async function copied(text) {
  try {
    await navigator.clipboard.writeText(text);
    return t("copied");
  } catch {
    return t("notCopied");
  }
}

const acts = {
  async send() {
    const field = part("text");
    if (!field.value.trim() || talk.length(field.value) > talk.longest) return;
    const { pair, turns } = state;
    const [text, asked] = [field.value, location.hash];
    const question = questionOf(text, pair, place().talk, turns);
    const { id, talk: { id: conversation, near, far, isFarsTurn } } = question;
    await program.post("ask", question);
    sessionStorage.removeItem("unheard");
    state.asked.set(id, Date.now());
    // Somebody may have typed on meanwhile, or gone elsewhere.
    if (field.value === text) {
      field.value = "";
      sessionStorage.removeItem("draft");
    }
    if (location.hash !== asked) return refresh();
    changePair(isFarsTurn ? { from: far, to: near } : { from: near, to: far });
    if (place().talk !== conversation) location.hash = `#/talk/${conversation}`;
    compose();
    await refresh();
    scrollTo(0, document.documentElement.scrollHeight);
  },
  async record() {
    if (state.recording === "recording") return hear();
    state.speechFailure = null;
    voice.stop();
    const bars = [...part("wave").children];
    state.recorder = listen.recorder(state.pair.from, state.now, program, (loud) => {
      // The newest on the right.
      bars.forEach((bar, index) => {
        bar.style.blockSize = bars[index + 1]?.style.blockSize
          ?? `${Math.min(100, 6 + Math.sqrt(loud) * 180)}%`;
      });
    }, hear);
    try {
      await state.recorder.start();
      state.recording = "recording";
      announce(t("record.recording"));
    } catch (error) {
      failSpeech(error);
    }
    return show();
  },
  typeInstead() {
    state.speechFailure = null;
    show();
    part("text").focus();
  },
  playLast() {
    return acts.play(state.now.entries.findLast((entry) => entry.state === "done"));
  },
  handoff() {
    const link = `${location.origin}/#/talk/${place().talk}`;
    const back = document.activeElement;
    const dialog = h("dialog", { class: "stack", "aria-labelledby": "handoff-title" },
      h("h2", { id: "handoff-title" }, t("handoff")), h("p", {}, t("handoff.text")),
      h("p", { class: "value mono" }, link),
      h("div", { class: "row" },
        h("button", { type: "button", class: "primary", "data-act": "copyText", "data-text": link,
          autofocus: true }, icon("copy"), t("copyLink")),
        h("button", { type: "button", "data-act": "close" }, t("close"))));
    document.body.append(dialog);
    dialog.addEventListener("close", () => {
      dialog.remove();
      back?.focus();
    });
    dialog.showModal();
  },
  async swap() {
    const { from, to } = state.pair;
    const last = state.now.entries.findLast((entry) => entry.to === to && entry.found);
    const source = from === "auto" ? last?.found : from;
    if (!source || source === to) return toast(t("noSwap"));
    return setPair({ from: to, to: source });
  },
  turns(data, button) {
    state.turns = !state.turns;
    sessionStorage.setItem("turns", state.turns ? "on" : "off");
    button.setAttribute("aria-pressed", state.turns);
    toast(t(state.turns ? "turnsOn" : "turnsOff"));
  },
  async copy({ id }) { toast(await copied(entryOf(id).translation)); },
  async copyText({ text }) { toast(await copied(text)); },
  async details({ id }) { toast(await copied(talk.report(entryOf(id), state.now))); },
  async share({ id }) {
    const { text, translation } = entryOf(id);
    const both = `${text}\n\n${translation}`;
    if (!navigator.share) return toast(`${t("noShare")} ${await copied(both)}`);
    // Whoever closes the sheet of the system shares nothing.
    return navigator.share({ text: both }).catch(() => {});
  },
  async play({ id }) {
    delete state.refusals[id];
    const { settings } = state.now;
    try {
      await voice.toggle(entryOf(id), Number(settings.rate), program, showSpeech);
    } catch (error) {
      state.refusals[id] = refusal(error);
      announce(state.refusals[id]);
      await acts.pronounce({ id });
    }
    show();
  },
  async pronounce({ id }) {
    if (!state.now.canSpeak) return;
    const { to, translation } = entryOf(id);
    state.pronunciations[id] = state.pronunciations[id] === undefined
      ? (await program.get("pronunciation", { text: translation.slice(0, 500), in: to })).text
      : undefined;
    show();
  },
  async keep({ id }) {
    const entry = entryOf(id);
    const { text, to, from, found } = entry;
    if (history.isKept(entry, state.now.favorites)) {
      await acts.letGo({ source: found ?? from, target: to, text });
    } else {
      await program.post("keep", { id });
      toast(t("kept"), undoing());
    }
  },
  async letGo({ source, target, text }) {
    await program.post("let-go", { from: source, to: target, text });
    toast(t("letGo"), undoing());
  },
  async clear() {
    if (!await confirmed(t("clearQuestion"), t("clearHistory"), t("keepIt"))) return;
    await program.post("clear", {});
    toast(t("cleared"), undoing());
  },
  async remove({ id }) {
    await program.post("remove", { id });
    toast(t("removed"), undoing());
  },
  async again({ id }) { await program.post("again", { id }); },
  async offline({ id }) { await program.post("offline", { id }); },
  edit({ id }) {
    const { text, from, to } = entryOf(id);
    part("text").value = text;
    setPair({ from, to });
    part("text").focus();
  },
  async undo() {
    const { rows } = await program.post("undo", {});
    toast(rows ? t("undone") : t("nothingToUndo"));
  },
  async choose({ name, value }) {
    await program.post("choose", { name, value });
    // That is for the next conversation to begin with.
    if (name === "from" || name === "to") sessionStorage.removeItem("pair");
    toast(t("saved"), undoing());
  },
  async service() {
    const field = (name) => part(`set-${name}`).value.trim();
    await program.post("choose", { name: "service", value: field("service"), model: field("model") });
    // It is this device's own, which an undo does not take back.
    toast(t("saved"));
  },
  async standardService() {
    await program.post("choose", { name: "service" });
    toast(t("saved"));
  },
  step({ number: wanted }) {
    state.step = Number(wanted);
    show();
    part("welcome-title").focus();
  },
  async welcomed() {
    await program.post("choose", { name: "welcomed", value: "on" });
    state.step = 0;
    location.hash = "#/";
  },
  async allowMicrophone() {
    try {
      const stream = await navigator.mediaDevices.getUserMedia({ audio: true });
      for (const track of stream.getTracks()) track.stop();
      state.microphone = t("microphoneAllowed");
    } catch {
      state.microphone = t("microphoneDenied");
    }
    show();
  },
  async forget() {
    await program.post("forget", {});
    toast(t("forgotten"));
  },
  dismiss,
  open({ id }) {
    dismiss();
    location.hash = `#/talk/${id}`;
  },
  sheet({ side, target }) { languages.open(side, target, state, program); },
  close(data, button) { languages.close(button.closest("dialog")); },
  async star({ code, value }) { await program.post("star", { name: code, value }); },
  async pick({ side, code, target }, button) {
    languages.close(button.closest("dialog"));
    if (target === "default") return acts.choose({ name: side, value: code });
    const { from, to } = state.pair;
    const other = side === "from" ? to : from;
    // The other one's place is taken: they change sides.
    if (code === other) return from === "auto" ? toast(t("same")) : setPair({ from: to, to: from });
    return setPair({ ...state.pair, [side]: code });
  },
};

/** A question, and whose turn it is after it. One that is sent again, since nothing was heard of it, is
 * the same: it may be there. With two sides it may have changed the languages, too. */
function questionOf(text, { from, to }, shown, turns) {
  const asked = JSON.stringify([text, shown, ...turns ? [] : [from, to]]);
  const unheard = JSON.parse(sessionStorage.getItem("unheard") ?? "{}");
  if (unheard.asked === asked) return unheard.question;
  const known = shown && state.now.talk?.id === shown ? state.now.talk : {
    id: crypto.randomUUID(), near: from, far: to, isFarsTurn: false, startedAt: Date.now() * 1000,
  };
  const isFars = known.far === from && known.near === to;
  const talk = isFars ? { ...known } : { ...known, near: from, far: to };
  // Nobody can answer in a language that is yet to be found.
  talk.isFarsTurn = turns && talk.near !== "auto" ? !isFars : isFars;
  const question = { id: crypto.randomUUID(), text, from, to, talk };
  sessionStorage.setItem("unheard", JSON.stringify({ asked, question }));
  return question;
}

/** Ends a recording, and asks what was said. */
async function hear() {
  if (state.recording !== "recording") return;
  state.recording = "processing";
  announce(t("record.processing"));
  show();
  try {
    const text = await state.recorder.finish();
    if (!text.trim()) throw new Refusal(0, { message: t("speakAgain") });
    state.recording = "idle";
    part("text").value = text;
    await acts.send();
  } catch (error) {
    failSpeech(error);
  }
  show();
}

function failSpeech(error) {
  state.recording = "idle";
  // Nothing more comes of it.
  state.recorder?.cancel().catch(() => {});
  state.speechFailure = error instanceof Refusal ? refusal(error)
    : error.name === "NotAllowedError" || error.name === "NotFoundError" ? t("microphoneDenied")
      : `${t("speakAgain")} (${error.message})`;
  announce(state.speechFailure);
}

function setPair(pair) {
  changePair(pair);
  sessionStorage.setItem("pair", JSON.stringify(pair));
  announce(t("pairIs", nameOf(pair.from), nameOf(pair.to)));
  show();
}

async function act(button) {
  if (button.ariaDisabled === "true") return;
  // Not `disabled`, which would lose the focus.
  button.ariaDisabled = "true";
  try {
    await perform(button.dataset.act, button.dataset, button);
  } finally {
    button.ariaDisabled = null;
  }
  compose();
  refresh();
}

/** Whether it went well. If not, that is said. */
async function perform(name, data, button) {
  try {
    await acts[name](data, button);
    return true;
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    toast(refusal(error));
    return false;
  }
}

document.addEventListener("click", ({ target }) => {
  const button = target.closest("[data-act]");
  if (button) act(button);
});

gestures.watch({
  async swiped(id) {
    const isGone = await perform("remove", { id });
    // Until the program's next answer says so.
    if (isGone) state.now.entries = state.now.entries.filter((entry) => entry.id !== id);
    refresh();
    return isGone;
  },
  canPull: () => Boolean(state.now && place().talk),
  pulling(isEnough, share) {
    // In whose place this is.
    if (isEnough !== null) dismiss();
    part("pull").hidden = isEnough === null;
    part("pull").textContent = isEnough === null ? "" : t(isEnough ? "pull.enough" : "pull.more");
    part("pull").classList.toggle("enough", isEnough === true);
    part("pull").style.setProperty("--share", share ?? 0);
  },
  pulled() {
    const { talk: left } = place();
    location.hash = "#/";
    toast(t("fresh"),
      h("button", { type: "button", "data-act": "open", "data-id": left }, t("goBack")));
  },
  swapped: () => perform("swap", {}),
  released: show,
});

main.addEventListener("animationend", ({ animationName }) => {
  if (animationName === "change-sides") main.classList.remove("swapped");
});

// For a moment, or by the menu key: the favorites alone.
languages.watchLongPress((side) => languages.openFavorites(side, state));

document.addEventListener("input", ({ target }) => {
  if (target.id === "text") {
    sessionStorage.setItem("draft", target.value);
    compose();
  } else if (target.id === "position") {
    voice.seek(Number(target.value));
    talk.follow(voice.playing());
  } else if (target.id === "history-search") {
    state.search = target.value;
    refresh();
  }
});

document.addEventListener("change", ({ target }) => {
  const { choose, chooseVoice } = target.dataset;
  if (chooseVoice) voice.store(chooseVoice, target.value);
  if (choose) {
    acts.choose({ name: choose, value: target.value }).then(refresh,
      (error) => toast(refusal(error)));
  }
});

document.addEventListener("keydown", (event) => {
  if (event.target.id === "text" && event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
    event.preventDefault();
    act(part("send"));
  }
});

// That of a dialog closes it.
document.addEventListener("submit", (event) => {
  if (event.target.method !== "dialog") event.preventDefault();
});

// The page opens while the program does not run. Where a browser has no workers, it does not.
const trusted = globalThis.trustedTypes?.createPolicy("worker", { createScriptURL: (url) => url });
navigator.serviceWorker?.register(trusted ? trusted.createScriptURL("/worker.js") : "/worker.js")
  .catch(() => {});

// Its own way would change the address, which says what is shown.
part("skip").addEventListener("click", (event) => {
  event.preventDefault();
  main.focus();
});

addEventListener("hashchange", async () => {
  // Of a program whose token is another one now.
  if (/^#[0-9a-f]{64}$/.test(location.hash)) return location.reload();
  const { view, talk: id } = place();
  if (state.recording === "recording" && view !== "talk") {
    state.recorder.cancel().catch(() => {});
    state.recording = "idle";
  }
  Object.assign(state, { history: null, search: "" });
  if (view === "talk" && state.now?.talk?.id !== id) state.turn = null;
  state.fresh.clear();
  show();
  await refresh();
  if (view !== "talk") main.focus({ preventScroll: true });
  return undefined;
});

setInterval(talk.tick, 1000);
setInterval(() => talk.follow(voice.playing()), 100);
settings.dress(JSON.parse(localStorage.getItem("look") ?? "{}"));
await load("auto");
build();
show();
program.follow(refresh, (isLive) => {
  state.isLive = isLive;
  show();
});
