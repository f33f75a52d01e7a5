// The page's own words, in the language that the person reads.

const languages = ["de", "en", "es", "fr", "ja", "zh"];

let words = {};

/** Of the words that are loaded. */
export let language = "";

/** The browser's first language that the page has, unless one is chosen. */
function wanted(choice) {
  const known = [choice, ...navigator.languages.map((tag) => tag.split("-")[0])]
    .find((code) => languages.includes(code));
  return known ?? "en";
}

/** Whether other words hold now. */
export async function load(choice) {
  const code = wanted(choice);
  if (code === language) return false;
  const response = await fetch(`/words.${code}.json`);
  words = await response.json();
  language = code;
  document.documentElement.lang = code;
  return true;
}

/** A sentence by its name, with what stands at each `{}`. */
export function t(name, ...values) {
  const pieces = (words[name] ?? name).split("{}");
  return pieces.map((piece, index) => (index ? `${values[index - 1] ?? ""}${piece}` : piece)).join("");
}

/** Whether there is such a sentence. */
export const has = (name) => name in words;

export const number = (value) => new Intl.NumberFormat(language).format(value);

const names = new Map();

/** What a language is called by the person who reads. */
export function nameOf(code) {
  if (code === "auto") return t("auto");
  const key = `${language} ${code}`;
  if (!names.has(key)) {
    let name = code;
    // What another device stored may be no code at all.
    try { name = new Intl.DisplayNames(language, { type: "language" }).of(code) ?? code; } catch {}
    names.set(key, name[0].toLocaleUpperCase(language) + name.slice(1));
  }
  return names.get(key);
}

export const clock = (date) =>
  new Intl.DateTimeFormat(language, { hour: "numeric", minute: "2-digit" }).format(date);

/** Today, yesterday, or the date. */
export function day(date, today = new Date()) {
  const distance = Math.round((start(date) - start(today)) / 86_400_000);
  if (distance === 0 || distance === -1) {
    const text = new Intl.RelativeTimeFormat(language, { numeric: "auto" }).format(distance, "day");
    return text[0].toLocaleUpperCase(language) + text.slice(1);
  }
  return new Intl.DateTimeFormat(language, { dateStyle: "full" }).format(date);
}

const start = (date) => new Date(date.getFullYear(), date.getMonth(), date.getDate());
