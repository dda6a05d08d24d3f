// SPDX-License-Identifier: Apache-2.0
// The router behind the pictures: signs a browser context in and stages what a screen is to show.

export const OWN_PASSWORD = "a quiet weir by the mill";

export class Router {
  #csrf = null;
  #owned = false;

  constructor(context, { url, user, password }) {
    this.context = context;
    this.url = url;
    this.user = user;
    this.password = password;
  }

  async call(method, address, body, headers = {}) {
    const answer = await this.context.request.fetch(`${this.url}/api/v1${address}`, {
      method,
      data: body,
      headers: { ...headers, ...(this.#csrf ? { "X-CSRF-Token": this.#csrf } : {}) },
    });
    if (!answer.ok()) throw new Error(`${method} ${address}: ${answer.status()} ${await answer.text()}`);
    return answer.status() === 204 ? {} : answer.json();
  }

  /** Signs in, with a one-time password too. */
  async signIn() {
    if (this.#csrf) return;
    const answer = await this.call("POST", "/auth/sign-in", { username: this.user, password: this.password });
    this.#csrf = answer.csrf_token;
    this.#owned = !answer.must_change_password;
  }

  /** Signs in and replaces a one-time password. */
  async signInForGood() {
    await this.signIn();
    if (this.#owned) return;
    await this.call("POST", "/auth/password", { old_password: this.password, new_password: OWN_PASSWORD });
    this.#csrf = (await this.call("GET", "/auth/me")).csrf_token;
    this.#owned = true;
  }

  /** A customer's queue with traffic below a parent. */
  async busyQueue() {
    const list = await this.call("GET", "/queues?limit=50&sort=-rate_download");
    const found = list.items.find((queue) => queue.parent !== null) ?? list.items[0];
    if (!found) throw new Error("this router has no queue");
    return found;
  }

  async parentQueue() {
    const list = await this.call("GET", "/queues?parent=none&limit=20&sort=-rate_download");
    const found = list.items.find((queue) => queue.child_count > 0);
    if (!found) throw new Error("this router has no parent queue");
    return found;
  }

  stage(changes) {
    return this.call("PUT", "/candidate/changes", { changes });
  }

  /** A changed limit, a new queue, a removed one and a route, as somebody might have them pending. */
  async stageSome() {
    const list = (await this.call("GET", "/queues?limit=50&sort=name")).items.filter(
      (queue) => queue.parent !== null,
    );
    const [first, second] = list;
    const {
      id,
      etag: _etag,
      path: _path,
      child_count: _count,
      enforcement: _enforcement,
      warnings: _warnings,
      backends: _backends,
      ...rest
    } = first;
    await this.stage([
      {
        kind: "queue",
        id,
        new: {
          ...rest,
          max_limit_bps: { upload: 5_000_000, download: 20_000_000 },
          comment: "new plan from today",
        },
      },
      { kind: "queue", id: second.id, new: null },
      {
        kind: "queue",
        id: "new-hotel",
        new: {
          name: "Hotel at the harbour",
          target: ["10.64.99.1/32"],
          parent: first.parent,
          max_limit_bps: { upload: 8_000_000, download: 30_000_000 },
        },
      },
      {
        kind: "static-route",
        id: "branch-office",
        new: { destination: "10.200.0.0/16", gateway: "10.64.0.2", comment: "branch office" },
      },
    ]);
  }

  /** Stops the API's processes without ending them; only where they are ours to stop. */
  silence() {
    process.kill(-Number(process.env.WEIR_API_PID), "SIGSTOP");
  }

  wake() {
    process.kill(-Number(process.env.WEIR_API_PID), "SIGCONT");
  }

  discard() {
    return this.call("DELETE", "/candidate").catch(() => undefined);
  }

  /** The configuration as a file. */
  async backup() {
    const answer = await this.context.request.get(`${this.url}/api/v1/backup`);
    if (!answer.ok()) throw new Error(`backup: ${answer.status()}`);
    return answer.body();
  }

  /** Reads a RouterOS export and answers with the report's id; nothing is written. */
  async importReport(text) {
    const answer = await this.context.request.post(`${this.url}/api/v1/import/routeros`, {
      multipart: { "export.rsc": { name: "export.rsc", mimeType: "text/plain", buffer: Buffer.from(text) } },
      headers: { "X-CSRF-Token": this.#csrf },
    });
    if (!answer.ok()) throw new Error(`import: ${answer.status()} ${await answer.text()}`);
    return (await answer.json()).id;
  }
}
