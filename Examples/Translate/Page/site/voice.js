// Speech out. The browser speaks where it has a voice for the language. Otherwise the program's
// espeak-ng makes a sound, which this page plays and can go to any place in.

import { Refusal } from "/kit.js";
import { t } from "/words.js";

/** In characters: of what takes longer than some minutes, the sound is more than a page should hold. */
const longest = 3000;

let current = null;

/** What is spoken now, by a question's id. Of the browser's speech how far, from 0 to 1; of a sound
 * how many seconds it has, at which it is, and how loud, from 0 to 1. */
export const playing = () => current && {
  id: current.id, done: current.done,
  seconds: current.sound?.seconds, at: current.sound?.at, loud: current.sound?.loud,
};

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
  stop();
  if (wasIt) return;
  const voice = voiceFor(entry.to);
  const mine = { id: entry.id, done: voice ? 0 : undefined };
  current = mine;
  const ended = () => {
    if (current !== mine) return;
    current = null;
    changed();
  };
  changed();
  if (voice) return speak(mine, entry.translation, voice, rate, changed, ended);
  try {
    if (entry.translation.length > longest) throw new Refusal(0, { message: t("tooLongToSpeak") });
    await play(mine, { text: entry.translation, in: entry.to, rate }, program, changed, ended);
  } catch (error) {
    ended();
    throw error;
  }
}

function speak(mine, text, voice, rate, changed, ended) {
  const utterance = new SpeechSynthesisUtterance(text);
  Object.assign(utterance, { voice, lang: voice.lang, rate });
  utterance.addEventListener("boundary", ({ charIndex }) => {
    if (current !== mine) return;
    mine.done = charIndex / Math.max(1, text.length);
    changed();
  });
  for (const end of ["end", "error"]) utterance.addEventListener(end, ended);
  speechSynthesis.speak(utterance);
}

async function play(mine, words, program, changed, ended) {
  const file = await program.blob("speech", words);
  // Made when it is wanted: before anybody pressed anything, a browser lets none begin.
  context ??= new AudioContext();
  const buffer = await context.decodeAudioData(await file.arrayBuffer());
  if (current !== mine) return;
  mine.sound = new Sound(buffer, ended);
  changed();
}

let context = null;

class Sound {
  constructor(buffer, ended) {
    Object.assign(this, { buffer, ended, seconds: buffer.duration });
    this.meter = new AnalyserNode(context, { fftSize: 2048 });
    this.meter.connect(context.destination);
    this.play(0);
  }

  get at() { return Math.min(this.seconds, context.currentTime - this.begun); }

  get loud() {
    const samples = new Float32Array(this.meter.fftSize);
    this.meter.getFloatTimeDomainData(samples);
    const power = samples.reduce((sum, sample) => sum + sample * sample, 0) / samples.length;
    // Speech has a third of what there is room for.
    return Math.min(1, 3 * Math.sqrt(power));
  }

  play(at) {
    this.#silence();
    this.node = new AudioBufferSourceNode(context, { buffer: this.buffer });
    this.node.connect(this.meter);
    this.node.onended = () => {
      this.stop();
      this.ended();
    };
    this.node.start(0, at);
    this.begun = context.currentTime - at;
    context.resume();
  }

  #silence() {
    if (!this.node) return;
    this.node.onended = null;
    this.node.stop();
  }

  stop() {
    this.#silence();
    // The device rests meanwhile.
    context.suspend();
  }
}

/** Goes to a place in the sound that is played. */
export const seek = (seconds) => current?.sound?.play(seconds);

export function stop() {
  if (!current) return;
  const { sound, done } = current;
  current = null;
  sound?.stop();
  if (done !== undefined) speechSynthesis.cancel();
}
