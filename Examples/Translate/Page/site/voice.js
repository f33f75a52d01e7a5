// Speech out: by the browser where it has a voice for the language, or by the program's espeak-ng.

let current = null;

/** What is spoken now: a question's id, and how far, from 0 to 1, where that is known. */
export const playing = () => current && { id: current.id, done: current.done };

/** The browser's for a language. */
export const voicesFor = (code) => (globalThis.speechSynthesis?.getVoices() ?? [])
  .filter((voice) => voice.lang.split(/[-_]/)[0] === code);

/** Which are chosen in this browser, by language. */
export const stored = () => JSON.parse(localStorage.getItem("voices") ?? "{}");

export const store = (code, voice) =>
  localStorage.setItem("voices", JSON.stringify({ ...stored(), [code]: voice }));

function voiceFor(code) {
  const voices = voicesFor(code);
  return voices.find((voice) => voice.voiceURI === stored()[code]) ?? voices[0];
}

/** Begins to speak a translation, or stops it.
 *
 * Fails as the program does where neither has a voice. */
export async function toggle(entry, rate, program, changed) {
  const wasIt = current?.id === entry.id;
  await stop(program);
  if (wasIt) return;
  const voice = voiceFor(entry.to);
  current = { id: entry.id, done: voice ? 0 : undefined };
  changed();
  if (!voice) {
    try {
      await program.post("speak", { id: entry.id });
    } finally {
      if (current?.id === entry.id) current = null;
      changed();
    }
    return;
  }
  const utterance = new SpeechSynthesisUtterance(entry.translation);
  Object.assign(utterance, { voice, lang: voice.lang, rate });
  utterance.addEventListener("boundary", ({ charIndex }) => {
    if (current?.id !== entry.id) return;
    current.done = charIndex / Math.max(1, entry.translation.length);
    changed();
  });
  for (const end of ["end", "error"]) {
    utterance.addEventListener(end, () => {
      if (current?.id !== entry.id) return;
      current = null;
      changed();
    });
  }
  speechSynthesis.speak(utterance);
}

export async function stop(program) {
  if (!current) return;
  const { done } = current;
  current = null;
  if (done === undefined) await program.post("hush", {});
  else speechSynthesis.cancel();
}
