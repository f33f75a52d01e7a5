// Speech in. Two recognizers behind one small protocol, `start` and `finish`: the program's, which
// knows few languages and keeps what is said on this machine, and the browser's for the others.

/** In samples a second. */
const rate = 16_000;
/** After which somebody who spoke has ended, and after which nobody speaks, in seconds. */
const [silence, patience, longest] = [2, 8, 60];
/** Louder is speech, of a level from 0 to 1. */
const speech = 0.015;

const Browsers = globalThis.SpeechRecognition ?? globalThis.webkitSpeechRecognition;

/** Whether somebody here understands a language. */
export const understands = (code, { hears }) => hears.includes(code)
  || (Browsers !== undefined && code !== "auto");

/** `level` is told how loud it is, and `ended` that nobody speaks any more. */
export const recorder = (code, now, program, level, ended) => (now.hears.includes(code)
  ? new Own(program, level, ended) : new OfBrowser(code, ended));

class Own {
  constructor(program, level, ended) {
    Object.assign(this, { program, level, ended, parts: [], heard: 0, spokeAt: null, hasEnded: false });
  }

  async start() {
    this.stream = await navigator.mediaDevices.getUserMedia({
      // As it is: what is made for people to hear leaves out what a recognizer needs.
      audio: { channelCount: 1, echoCancellation: false, noiseSuppression: false,
        autoGainControl: false },
    });
    this.context = new AudioContext({ sampleRate: rate });
    await this.context.audioWorklet.addModule("/microphone.js");
    const node = new AudioWorkletNode(this.context, "microphone", { numberOfOutputs: 0 });
    node.port.onmessage = ({ data }) => this.#hear(data);
    this.context.createMediaStreamSource(this.stream).connect(node);
  }

  #hear(part) {
    if (this.hasEnded) return;
    const loud = Math.sqrt(part.reduce((sum, sample) => sum + sample * sample, 0) / part.length);
    this.level(loud);
    this.parts.push(part);
    this.heard += part.length / rate;
    if (loud > speech) this.spokeAt = this.heard;
    const quiet = this.heard - (this.spokeAt ?? 0);
    if (quiet > (this.spokeAt === null ? patience : silence) || this.heard > longest) {
      this.hasEnded = true;
      this.ended();
    }
  }

  /** 16 bits each, the low byte first. */
  #recording() {
    const samples = this.parts.flatMap((part) => [...part]).slice(0, longest * rate);
    const bytes = new DataView(new ArrayBuffer(2 * samples.length));
    samples.forEach((sample, index) => {
      bytes.setInt16(2 * index, Math.max(-1, Math.min(1, sample)) * 32_767, true);
    });
    return new Blob([bytes]);
  }

  #release() {
    this.hasEnded = true;
    for (const track of this.stream?.getTracks() ?? []) track.stop();
    this.context?.close();
  }

  async finish() {
    this.#release();
    return (await this.program.upload("hear", {}, this.#recording())).text;
  }

  async cancel() { this.#release(); }
}

class OfBrowser {
  constructor(code, ended) {
    this.recognition = Object.assign(new Browsers(), { lang: code, continuous: false });
    this.text = "";
    this.over = new Promise((resolve, reject) => {
      this.recognition.onresult = ({ results }) => {
        this.text = [...results].map(([best]) => best.transcript).join(" ");
      };
      this.recognition.onerror = ({ error }) => (error === "no-speech" ? resolve()
        : reject(new DOMException(error, error === "not-allowed" ? "NotAllowedError" : "AbortError")));
      this.recognition.onend = resolve;
    });
    this.over.then(ended, ended);
  }

  async start() { this.recognition.start(); }

  async finish() {
    this.recognition.stop();
    await this.over;
    return this.text;
  }

  async cancel() { this.recognition.abort(); }
}
