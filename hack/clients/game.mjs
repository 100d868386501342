// A game: GameLink over the WebSocket library ws, with the checks of a strict client.

import assert from "node:assert/strict";
import { once } from "node:events";

import WebSocket from "ws";

const limit = 60_000; // ms until the test gives up on an event

export class Game {
  static async connect(address) {
    const game = new Game();
    game.next = 0;
    game.open = new Map(); // requests without an answer
    game.pushes = [];
    game.listeners = new Set();
    game.problems = [];
    game.socket = new WebSocket(`${address}/0.0.2/sample-extension`);
    game.socket.on("message", (data, isBinary) => game.receive(data, isBinary));
    game.closed = once(game.socket, "close").then(([code]) => code);
    await once(game.socket, "open");
    return game;
  }

  receive(data, isBinary) {
    const text = String(data);
    const { meta, data: content, errors } = JSON.parse(text);
    if (isBinary || /[^\x20-\x7e]/.test(text)) this.problems.push(`not an ASCII text: ${text}`);
    if ((content === undefined) === (errors === undefined) || content === null || errors?.length === 0) this.problems.push(`data or errors: ${text}`);
    if (!Number.isInteger(meta.request_id) || !Number.isInteger(meta.timestamp)) this.problems.push(`meta: ${text}`);
    if (meta.request_id === 65535 && meta.action === "update") {
      this.pushes.push({ target: meta.target, data: content });
      for (const listener of this.listeners) listener();
      return;
    }
    const request = this.open.get(meta.request_id);
    if (!request || request.action !== meta.action || request.target !== meta.target) this.problems.push(`answers no request: ${text}`);
    this.open.delete(meta.request_id);
    request?.resolve({ data: content, errors });
  }

  // request sends a request and returns a promise of its answer.
  request(action, target, data, id = this.next++ % 128) {
    return new Promise((resolve) => {
      this.open.set(id, { action, target, resolve });
      this.socket.send(JSON.stringify({ action, params: { request_id: id, target }, data }));
    });
  }

  // must sends a request that succeeds and returns its data.
  async must(action, target, data) {
    const answer = await this.request(action, target, data);
    assert.equal(answer.errors, undefined, `${action} ${target}: ${JSON.stringify(answer.errors)}`);
    return answer.data;
  }

  async refused(action, target, data, number) {
    const { errors } = await this.request(action, target, data);
    assert.deepEqual([errors?.[0].number, errors?.[0].status, typeof errors?.[0].detail], [number, number, "string"]);
    return errors[0].detail;
  }

  // authenticate returns what the client keeps.
  async authenticate(credential) {
    const got = await this.must("authenticate", "", { client_id: "sample-extension", game_id: "Tower of Tea", ...credential });
    for (const field of ["jwt", "refresh", "twitch_name", "twitch_id"]) assert.equal(typeof got[field], "string");
    assert.notEqual(got.refresh, "");
    return got;
  }

  // pushed waits for so many pushes to a target, and returns what they hold.
  async pushed(count, target, where = () => true) {
    const matching = () => this.pushes.filter((push) => push.target === target && where(push.data)).map((push) => push.data);
    if (matching().length >= count) return matching();
    let timer, listener;
    try {
      await new Promise((resolve, reject) => {
        listener = () => matching().length >= count && resolve();
        this.listeners.add(listener);
        timer = setTimeout(() => reject(new Error(`${count} pushes to ${target}: got ${JSON.stringify(this.pushes)}`)), limit);
      });
    } finally {
      clearTimeout(timer);
      this.listeners.delete(listener);
    }
    return matching();
  }

  // end closes the connection and complains about messages that a strict client refuses.
  async end() {
    this.socket.close();
    await this.closed;
    assert.deepEqual(this.problems, []);
  }
}
