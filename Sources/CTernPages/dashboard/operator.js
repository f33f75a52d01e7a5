// What an operator asks the server, at /v1/admin.

import { Refusal } from "./kit.js";

const KEY = "tern-operator";

/** Milliseconds in which a server answers that is there. */
const PATIENCE = 15_000;

/** The server, for an operator. The token stays in this tab until it is closed or `leave` is
 * called, and is sent as a header alone. */
export class Operator {
  #token = sessionStorage.getItem(KEY) ?? "";

  get isKnown() {
    return this.#token !== "";
  }

  get token() {
    return this.#token;
  }

  enter(token) {
    this.#token = token;
    sessionStorage.setItem(KEY, token);
  }

  leave() {
    this.#token = "";
    sessionStorage.removeItem(KEY);
  }

  /** A page of spaces, by name, behind `after`. */
  spaces(after) {
    return this.#get("spaces", after ? { after } : {});
  }

  space(name) {
    return this.#get(`spaces/${encodeURIComponent(name)}`);
  }

  async #get(path, query = {}) {
    const address = new URL(`../v1/admin/${path}`, location.href);
    address.search = new URLSearchParams(query);
    let response, answer;
    try {
      response = await fetch(address, {
        headers: { Authorization: `Bearer ${this.#token}` }, cache: "no-store",
        signal: AbortSignal.timeout(PATIENCE),
      });
      // A proxy's page is no answer of the server's.
      answer = await response.json();
    } catch {
      throw new Refusal(0, {
        code: "gone", passes: "yes", message: "The server does not answer. It may have been stopped.",
      });
    }
    if (response.ok) return answer;
    throw new Refusal(response.status, {
      code: String(answer.type).split(":").at(-1), passes: response.status >= 500 ? "yes" : "no",
      message: answer.detail ?? answer.title,
    });
  }
}
