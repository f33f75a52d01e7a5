// The camera: what it sees, how near it is, and one frame of it whenever the person wants.

import { earlyStream, isAllowed, openLens, release } from "/lens.js";

/** How near a camera comes that has no zoom of its own. Its picture is cropped. */
const NEAREST = 4;

/** After so many milliseconds without use it pauses. */
const PATIENCE = 30_000;

export class Camera {
  /** @param changed is called whenever something of it is another.
   *
   * `state` is `unasked` until the person agrees, `starting`, `live`, `paused` once nobody used it
   * for a while, `waking` until it is live again, `resting` while nobody looks, `denied`, or `none`
   * where there is no camera. `zoom` is how many times larger things are than without it. */
  constructor(video, changed) {
    [this.video, this.changed] = [video, changed];
    this.state = "unasked";
    this.isWanted = false;
    this.stream = null;
    // Of that, what is not the camera's own doing.
    [this.zoom, this.enlarged] = [1, 1];
    [this.isZooming, this.refusesZoom] = [false, false];
    this.usedAt = 0;
  }

  /** Whether its picture is shown, be it the last one. */
  get isShown() {
    return ["live", "paused", "waking"].includes(this.state);
  }

  /** Begins, if the person agreed before, and ends. */
  async want(isWanted) {
    const early = earlyStream();
    if (!isWanted) early?.then(release, () => {});
    if (isWanted === this.isWanted) return;
    this.isWanted = isWanted;
    if (!isWanted) {
      this.#stop();
      return;
    }
    if (this.state === "resting" || await isAllowed()) await this.start(early);
  }

  /** @param early of a stream that was asked for before. */
  async start(early = null) {
    if (["starting", "waking", "live"].includes(this.state)) {
      early?.then(release, () => {});
      return;
    }
    if (!navigator.mediaDevices) {
      this.#become("none");
      return;
    }
    this.#become(this.state === "paused" ? "waking" : "starting");
    try {
      const stream = await early ?? await openLens();
      if (this.isWanted) await this.#show(stream); else release(stream);
    } catch (error) {
      this.#release();
      this.#become(error.name === "NotAllowedError" ? "denied" : "none");
      return;
    }
    if (this.state === "live") return;
    // Somebody left meanwhile, and may be back.
    this.#become("resting");
    if (this.isWanted) await this.start();
  }

  async #show(stream) {
    this.stream = stream;
    this.refusesZoom = false;
    this.#track.addEventListener("ended", () => this.#lose());
    this.video.srcObject = stream;
    try {
      await this.video.play();
    } catch (error) {
      if (this.stream === stream) throw error;
    }
    // Whoever left has ended it.
    if (this.stream !== stream) return;
    this.usedAt = performance.now();
    this.#become("live");
    if (this.zoom > 1) this.zoomTo(this.zoom);
  }

  /** Somebody is there. One that is paused stays so until it is started. */
  used() {
    this.usedAt = performance.now();
  }

  /** Pauses if nobody was there for a while, and says whether it did. The last picture stays. */
  tire() {
    if (this.state !== "live" || performance.now() - this.usedAt < PATIENCE) return false;
    this.video.pause();
    this.#release();
    this.#become("paused");
    return true;
  }

  get #track() {
    return this.stream?.getVideoTracks()[0];
  }

  /** Some browsers know it only a while after the beginning. */
  get #abilities() {
    return this.#track?.getCapabilities?.() ?? {};
  }

  // How near.

  /** The zoom of the camera itself, in its own unit. */
  get #range() {
    const { zoom } = this.#abilities;
    return !this.refusesZoom && zoom?.min > 0 && zoom.max > zoom.min ? zoom : null;
  }

  get nearest() {
    const range = this.#range;
    return range ? range.max / range.min : NEAREST;
  }

  zoomTo(times) {
    this.zoom = Math.min(Math.max(times, 1), this.nearest);
    this.#enlarge();
    this.#zoom();
    this.changed();
  }

  /** What the camera does not do is done to its picture. */
  #enlarge() {
    this.enlarged = this.#range ? 1 : this.zoom;
    this.video.style.scale = String(this.enlarged);
  }

  /** One at a time, and the last that was asked for. */
  async #zoom() {
    if (this.isZooming || !this.#range) return;
    this.isZooming = true;
    try {
      for (let done = null; done !== this.zoom;) {
        done = this.zoom;
        await this.#track?.applyConstraints({ advanced: [this.#ownZoom] });
      }
    } catch {
      this.refusesZoom = true;
      this.#enlarge();
    } finally {
      this.isZooming = false;
    }
  }

  get #ownZoom() {
    const range = this.#range;
    return range ? { zoom: range.min * this.zoom } : {};
  }

  // What is sharp.

  /** Whether it can be told where to focus. */
  get canFocus() {
    return Boolean(navigator.mediaDevices?.getSupportedConstraints().pointsOfInterest
      && this.#abilities.focusMode?.includes("single-shot"));
  }

  /** @param left and `top` are from 0 to 1 within what is shown. */
  async focusOn(left, top) {
    const { x, y, width, height } = this.#shown;
    const { videoWidth, videoHeight } = this.video;
    const point = { x: (x + left * width) / videoWidth, y: (y + top * height) / videoHeight };
    // What is not named is given up: the zoom, too.
    await this.#track.applyConstraints({
      advanced: [{ ...this.#ownZoom, pointsOfInterest: [point], focusMode: "single-shot" }],
    });
  }

  /** The part of the picture that the window has room for, as `object-fit: cover` leaves it. */
  get #shown() {
    const { videoWidth, videoHeight, clientWidth, clientHeight } = this.video;
    const scale = Math.max(clientWidth / videoWidth, clientHeight / videoHeight)
      * this.enlarged;
    const [width, height] = [clientWidth / scale, clientHeight / scale];
    return { x: (videoWidth - width) / 2, y: (videoHeight - height) / 2, width, height };
  }

  /** What the camera sees now, and the part of it that is shown if its picture is enlarged. Whoever
   * has the frame closes it soon: a camera has only a few. */
  async frame() {
    const { video, enlarged } = this;
    const { x, y, width, height } = enlarged === 1
      ? { x: 0, y: 0, width: video.videoWidth, height: video.videoHeight } : this.#shown;
    const part = [x, y, width, height].map(Math.round);
    // A bitmap holds up the page while it is made, a frame of the video does not.
    const frame = globalThis.VideoFrame ? new VideoFrame(video) : await createImageBitmap(video);
    return { frame, part };
  }

  #stop() {
    const wasShown = this.state === "live" || this.state === "paused";
    this.#release();
    this.video.srcObject = null;
    if (wasShown) this.#become("resting");
  }

  #release() {
    release(this.stream);
    this.stream = null;
  }

  /** Another program took it, or it was unplugged. */
  #lose() {
    this.#stop();
    this.#become("none");
  }

  #become(state) {
    this.state = state;
    this.changed();
  }
}

/** Where photos are made, beside the page, which goes on meanwhile. */
export class Darkroom {
  constructor(script) {
    this.worker = new Worker(script, { type: "module" });
    this.waiting = new Map();
    this.last = 0;
    this.worker.addEventListener("message", ({ data: { id, photo, small, reason } }) => {
      const { resolve, reject } = this.waiting.get(id);
      this.waiting.delete(id);
      if (photo) resolve({ photo, small }); else reject(new Error(reason));
    });
  }

  /** Of a frame's part a JPEG, its long edge at most 1920 pixels; and a small picture of it. */
  develop({ frame, part }) {
    return this.#ask({ frame, part }, [frame]);
  }

  /** A file as it is, and a small picture of it if it is one. */
  look(file) {
    return this.#ask({ file }, []);
  }

  #ask(message, transferred) {
    this.last += 1;
    const id = this.last;
    return new Promise((resolve, reject) => {
      this.waiting.set(id, { resolve, reject });
      this.worker.postMessage({ id, ...message }, transferred);
    });
  }
}
