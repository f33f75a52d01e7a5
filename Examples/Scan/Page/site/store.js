// Photos that the program does not have yet, as the browser keeps them: over a reload, and until the
// program is there again.

const done = (request) => new Promise((resolve, reject) => {
  request.addEventListener("success", () => resolve(request.result));
  request.addEventListener("error", () => reject(request.error));
});

export class Store {
  #opened = null;

  #open() {
    this.#opened ??= (() => {
      const request = indexedDB.open("scan", 1);
      request.addEventListener("upgradeneeded", () => {
        request.result.createObjectStore("photos", { keyPath: "key" });
      });
      return done(request);
    })();
    return this.#opened;
  }

  async #photos(mode) {
    // Safe when the promise is: an app on a phone may be ended at any time.
    const transaction = (await this.#open()).transaction("photos", mode, { durability: "strict" });
    return transaction.objectStore("photos");
  }

  async put({ key, name, taken, photo, small }) {
    await done((await this.#photos("readwrite")).put({ key, name, taken, photo, small }));
  }

  async remove(key) {
    await done((await this.#photos("readwrite")).delete(key));
  }

  /** In the order in which they were taken. */
  async all() {
    const items = await done((await this.#photos("readonly")).getAll());
    return items.sort((one, other) => one.taken - other.taken);
  }
}
