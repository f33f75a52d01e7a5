// Photos between the person and the program: kept by the browser, and sent one after the other. Each
// has a key, by which the program knows one that it has already.

import { Store } from "/store.js";

export class Outbox {
  /** @param changed is called whenever an item is another, and `accepted` with each that is safe and
   * the number that it has there. */
  constructor(program, changed, accepted) {
    [this.program, this.changed, this.accepted] = [program, changed, accepted];
    this.items = [];
    this.store = new Store();
    /** Why the program can save nothing now, as it says. */
    this.delay = null;
    this.isSending = false;
    this.isWanted = false;
    /** In milliseconds, until what could not be sent is tried again. */
    this.pause = 0;
    this.again = 0;
  }

  /** Whether the open page alone has photos, since the browser can't keep them. */
  get hasUnkept() { return this.items.some((item) => item.isUnkept && !item.refusal); }

  /** Takes up what was kept when the page was closed. */
  async begin() {
    try {
      for (const item of await this.store.all()) this.#show({ ...item, refusal: null });
    } catch {
      // A browser that keeps nothing has nothing to take up.
    }
    this.changed();
    this.send();
  }

  /** @param coming is the photo with a small picture of it, once they are there.
   * @param refusal says why it is not sent. */
  async add(coming, name, refusal = null) {
    const item = { key: crypto.randomUUID(), name, taken: Date.now(), photo: null, refusal };
    this.#show(item);
    this.changed();
    try {
      Object.assign(item, await coming);
      item.url = address(item.small);
    } catch (error) {
      item.refusal = `The photo could not be made: ${error.message}`;
    }
    this.changed();
    if (item.refusal) return;
    await this.#keep(item);
    item.isReady = true;
    this.send();
  }

  async #keep(item) {
    try {
      await this.store.put(item);
      item.isUnkept = false;
    } catch {
      // Then the open page alone has it, until it is sent.
      item.isUnkept = true;
    }
  }

  #show(item) {
    this.items.push(Object.assign(item, { url: address(item.small), isReady: item.photo !== null }));
  }

  /** Forgets one. Its picture may still be shown as that of the photo which it became. */
  async drop(item) {
    const place = this.items.indexOf(item);
    if (place >= 0) this.items.splice(place, 1);
    if (!this.#next()) this.delay = null;
    this.changed();
    try {
      await this.store.remove(item.key);
    } catch {
      // It was not kept; or it is sent once more, and known by its key.
    }
  }

  /** Sends what waits, until all is sent or nothing can be. */
  async send() {
    this.isWanted = true;
    if (this.isSending) return;
    this.isSending = true;
    clearTimeout(this.again);
    while (this.isWanted) {
      this.isWanted = false;
      await this.#sendAll();
    }
    this.isSending = false;
    // Nobody tells of a disk that has room again, nor of an answer that was cut off.
    if (this.pause) this.again = setTimeout(() => this.send(), this.pause);
  }

  async #sendAll() {
    for (let item = this.#next(); item; item = this.#next()) {
      try {
        if (item.isUnkept) await this.#keep(item);
        const { scan } = await this.program.upload(
          "photos", { name: item.name, key: item.key }, item.photo);
        [this.delay, this.pause] = [null, 0];
        if (this.items.includes(item)) {
          this.accepted(item, scan);
          await this.drop(item);
        } else {
          // Somebody forgot it meanwhile.
          await this.program.post("forget", { scan });
        }
      } catch (error) {
        if (error.passes || error.status === 401) return this.#wait(error);
        item.refusal = error.message;
        this.changed();
      }
    }
  }

  /** What comes behind would fare no better. */
  #wait(error) {
    this.pause = error.passes ? Math.min(2 * (this.pause || 1000), 30_000) : 0;
    // One that is gone, or that wants another token, has told the page in its own way.
    this.delay = error.status === 0 || error.status === 401 ? null : error.message;
    this.changed();
  }

  #next() {
    return this.items.find((item) => item.isReady && !item.refusal);
  }
}

const address = (small) => (small ? URL.createObjectURL(small) : null);
