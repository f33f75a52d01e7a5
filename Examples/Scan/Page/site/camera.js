// The camera: what it sees, and one frame of it whenever the person wants.

export class Camera {
  /** @param changed is called whenever `state` is another: `unasked` until the person agrees,
   * `starting`, `live`, `resting` while nobody looks, `denied`, or `none` where there is no camera. */
  constructor(video, changed) {
    [this.video, this.changed] = [video, changed];
    this.state = "unasked";
    this.isWanted = false;
    this.stream = null;
  }

  /** Begins, if the person agreed before, and ends. */
  async want(isWanted) {
    if (isWanted === this.isWanted) return;
    this.isWanted = isWanted;
    if (!isWanted) {
      this.#stop();
    } else if (this.state === "resting" || await isAllowed()) {
      await this.start();
    }
  }

  /** Asks the browser, which may ask the person. */
  async start() {
    if (!navigator.mediaDevices) return this.#become("none");
    this.#become("starting");
    try {
      const stream = await navigator.mediaDevices.getUserMedia({
        video: {
          facingMode: "environment", width: { ideal: 1920 }, height: { ideal: 1080 },
          frameRate: { ideal: 30 },
        },
      });
      // Somebody may have left meanwhile.
      if (!this.isWanted) {
        for (const track of stream.getTracks()) track.stop();
        return this.#become("resting");
      }
      this.stream = stream;
      stream.getVideoTracks()[0].addEventListener("ended", () => this.#lose());
      this.video.srcObject = stream;
      await this.video.play();
      return this.#become("live");
    } catch (error) {
      return this.#become(error.name === "NotAllowedError" ? "denied" : "none");
    }
  }

  /** What the camera sees now. */
  frame() {
    return createImageBitmap(this.video);
  }

  #stop() {
    for (const track of this.stream?.getTracks() ?? []) track.stop();
    this.stream = null;
    this.video.srcObject = null;
    if (this.state === "live") this.#become("resting");
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

async function isAllowed() {
  try {
    return (await navigator.permissions.query({ name: "camera" })).state === "granted";
  } catch {
    // A browser that can't say so is asked when the person wants it.
    return false;
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

  /** Of a frame a JPEG, its long edge at most 1920 pixels; and a small picture of it. */
  develop(frame) {
    return this.#ask({ frame }, [frame]);
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
