// Photos between the person and the program: sent one after the other, kept while the program does
// not answer. Each has a key, by which the program knows one that it has already.

export class Outbox {
  /** @param changed is called whenever an item is another, and `accepted` with each that is safe and
   * the number that it has there. */
  constructor(program, changed, accepted) {
    [this.program, this.changed, this.accepted] = [program, changed, accepted];
    this.items = [];
    this.isSending = false;
  }

  /** @param coming is the photo with a small picture of it, once they are there.
   * @param refusal says why it is not sent. */
  async add(coming, name, refusal = null) {
    const item = { key: crypto.randomUUID(), name, blob: null, refusal, url: null };
    this.items.push(item);
    this.changed();
    try {
      const { photo, small } = await coming;
      item.blob = photo;
      item.url = small ? URL.createObjectURL(small) : null;
    } catch (error) {
      item.refusal = `The photo could not be made: ${error.message}`;
    }
    this.changed();
    this.send();
  }

  /** Forgets one. Its picture may still be shown as that of the photo which it became. */
  drop(item) {
    this.items.splice(this.items.indexOf(item), 1);
    this.changed();
  }

  /** Sends what waits, until all is sent or the program is gone. */
  async send() {
    if (this.isSending) return;
    this.isSending = true;
    for (let item = this.#next(); item; item = this.#next()) {
      try {
        const { scan } = await this.program.upload(
          "photos", { name: item.name, key: item.key }, item.blob);
        this.drop(item);
        this.accepted(item, scan);
      } catch (error) {
        if (error.status === 0 || error.passes) break;
        item.refusal = error.message;
        this.changed();
      }
    }
    this.isSending = false;
  }

  #next() {
    return this.items.find((item) => item.blob && !item.refusal);
  }
}
