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
    this.isSending = false;
  }

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
    try {
      await this.store.put(item);
    } catch {
      // Then the open page alone has it, until it is sent.
      item.isUnkept = true;
    }
    item.isReady = true;
    this.send();
  }

  #show(item) {
    this.items.push(Object.assign(item, { url: address(item.small), isReady: item.photo !== null }));
  }

  /** Forgets one. Its picture may still be shown as that of the photo which it became. */
  async drop(item) {
    this.items.splice(this.items.indexOf(item), 1);
    this.changed();
    try {
      await this.store.remove(item.key);
    } catch {
      // It was not kept; or it is sent once more, and known by its key.
    }
  }

  /** Sends what waits, until all is sent or the program is gone. */
  async send() {
    if (this.isSending) return;
    this.isSending = true;
    for (let item = this.#next(); item; item = this.#next()) {
      try {
        const { scan } = await this.program.upload(
          "photos", { name: item.name, key: item.key }, item.photo);
        this.accepted(item, scan);
        await this.drop(item);
      } catch (error) {
        const isGone = error.status === 0 || error.status === 401;
        item.delay = !isGone && error.passes ? error.message : null;
        item.refusal = isGone || error.passes ? null : error.message;
        this.changed();
        if (item.refusal) continue;
        // Once the program answers, there is news. Of a disk that has room again nobody tells.
        clearTimeout(this.again);
        if (item.delay) this.again = setTimeout(() => this.send(), 2000);
        break;
      }
    }
    this.isSending = false;
  }

  #next() {
    return this.items.find((item) => item.isReady && !item.refusal);
  }
}

const address = (small) => (small ? URL.createObjectURL(small) : null);
