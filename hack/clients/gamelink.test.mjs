// The behaviours that the public test suites of the game clients rely on, in one process
// and over three that share a database: games, votes and writes reach another process
// each time.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { after, before, test } from "node:test";

import { Lab, root, sign, token } from "../browser/program.mjs";
import { Game } from "./game.mjs";

let lab;
const deployments = {};

before(async () => {
  lab = await Lab.open();
  const mongodb = await lab.database();
  const [single, ...several] = await Promise.all([lab.serve({ games: true }), ...Array.from({ length: 3 }, () => lab.serve({ games: true, mongodb }))]);
  deployments["one process"] = new Deployment([single]);
  deployments["three processes"] = new Deployment(several);
});

after(() => lab?.close());

// Deployment is the processes that serve one database.
class Deployment {
  constructor(programs) {
    this.programs = programs;
    this.turn = 0;
  }

  get next() {
    return this.programs[this.turn++ % this.programs.length];
  }

  game() {
    return Game.connect(this.next.games + "/sandbox");
  }

  // rest sends a request as a role in a channel and returns the status and the body.
  async rest(channel, who, method, route, body) {
    const { origin } = this.next;
    const credential = await token(origin, { channel_id: channel, ...who });
    const answer = await fetch(`${origin}/sandbox/v1${route}`, { method, headers: { Authorization: credential }, body: body && JSON.stringify(body) });
    return { status: answer.status, body: await answer.json() };
  }

  async write(channel, who, route, body) {
    const answer = await this.rest(channel, who, "POST", route, body);
    assert.ok(answer.status < 300, `${route}: ${JSON.stringify(answer)}`);
    return answer.body;
  }

  // paired returns a game that a PIN of a role has paired with a channel; an admin asks for all
  // channels.
  async paired(channel, who = { role: "broadcaster" }) {
    const { token: pin } = await this.write(channel, who, "/gamelink/token", { server: who.role === "admin" });
    const game = await this.game();
    const { refresh } = await game.authenticate({ pin });
    return { game, refresh };
  }
}

const viewer = (user_id) => ({ role: "viewer", user_id });
const statuses = (pushes) => pushes.map(({ poll, count }) => [poll.status, count]);

// Scenarios by the section of the protocol's page; each has a channel of its own.
const scenarios = {
  "14.1 PINs and refresh tokens": async (d, channel) => {
    const { game, refresh: first } = await d.paired(channel);
    await game.end();
    for (let refresh = first, n = 0; n < 8; n++) {
      const next = await d.game();
      ({ refresh } = await next.authenticate({ refresh, game_id: `unknown ${n}` }));
      await next.end();
    }
  },

  "14.2 a poll that never was, a vote, a stop": async (d, channel) => {
    const { game } = await d.paired(channel);
    await game.must("delete", "poll", { poll_id: "p" });
    await game.must("unsubscribe", "poll", { topic_id: "p" });
    await game.must("subscribe", "poll", { topic_id: "p" });
    await game.must("create", "poll", { poll_id: "p", prompt: "Wohin?", options: ["Eis", "Süd"], user_data: null });
    await d.write(channel, viewer("5"), "/vote?id=p", { value: 1 });
    const [update] = await game.pushed(1, "poll");
    assert.deepEqual([update.topic_id, update.poll.poll_id, update.poll.options, update.results.length, update.results[1], update.count], ["p", "p", ["Eis", "Süd"], 32, 1, 1]);
    await game.must("reconfigure", "poll", { poll_id: "p", config: { endsAt: -1 } });
    assert.deepEqual(statuses(await game.pushed(2, "poll")), [["active", 1], ["expired", 1]]);
    await game.end();
  },

  "14.3 the clock": async (d, channel) => {
    const { game } = await d.paired(channel);
    const poll = (poll_id, config) => game.must("create", "poll", { poll_id, prompt: "", options: ["a"], user_data: null, config });
    // fence waits until another poll was pushed, longer than updates of one poll are apart: what
    // the first one caused has come before.
    const fence = async (poll_id) => {
      await game.must("subscribe", "poll", { topic_id: poll_id });
      await poll(poll_id, { endsIn: 3 });
      await game.pushed(1, "poll", (data) => data.topic_id === poll_id && data.poll.status === "expired");
      return statuses(game.pushes.map((push) => push.data).filter((data) => data.topic_id === "p"));
    };
    await game.must("subscribe", "poll", { topic_id: "p" });
    await poll("p", { startsIn: 3, endsIn: 5 });
    await game.pushed(2, "poll");
    assert.deepEqual(await fence("fence 1"), [["active", 0], ["expired", 0]]);
    game.pushes = [];
    await poll("p", { startsIn: 3, endsIn: 100 });
    await game.pushed(1, "poll");
    for (let n = 0; n < 5; n++) await game.must("reconfigure", "poll", { poll_id: "p", config: { endsAt: -1 } });
    assert.deepEqual(await fence("fence 2"), [["active", 0], ["expired", 0]]);
    await game.end();
  },

  "14.4 state": async (d, channel) => {
    const { game } = await d.paired(channel);
    await Promise.all([game.must("subscribe", "state", { topic_id: "channel" }), game.must("set", "state", { state_id: "channel", state: { a: 1 } })]);
    assert.deepEqual(await game.pushed(1, "channel"), [{ topic_id: "channel", state: { a: 1 } }]);
    const values = { double: 1.5, integer: 7, boolean: true };
    await Promise.all(Object.entries(values).map(([name, value]) => game.must("patch", "state", { state_id: "channel", state: [{ op: "add", path: "/" + name, value }] })));
    await game.pushed(1, "channel", ({ state }) => Object.keys(state).length === 4);
    assert.deepEqual((await d.rest(channel, viewer("5"), "GET", "/channel_state")).body, { a: 1, ...values });
    await game.must("set", "state", { state_id: "channel", state: {} });
    await game.pushed(1, "channel", ({ state }) => Object.keys(state).length === 0);
    assert.equal(game.pushes.filter((push) => push.target === "state").length, 0);
    await game.end();
  },

  "14.5 configuration": async (d, channel) => {
    const { game } = await d.paired(channel);
    await game.must("subscribe", "config", { config_id: "channel" });
    await game.must("set", "config", { config: { a: 1 } });
    await game.pushed(1, "config");
    await d.write(channel, { role: "broadcaster" }, "/config/channel", { a: 2 });
    assert.deepEqual(await game.pushed(2, "config"), [1, 2].map((a) => ({ config_id: "channel", topic_id: "channel", config: { a } })));
    await game.end();
  },

  "14.6 a connection that is dropped": async (d, channel) => {
    const { game, refresh } = await d.paired(channel);
    game.socket.terminate();
    const back = await d.game();
    back.request("authenticate", "", { client_id: "sample-extension", game_id: "Tower of Tea", refresh }, 65535);
    back.request("set", "state", { state_id: "channel", state: { back: true } });
    assert.deepEqual(await back.must("get", "state", { state_id: "channel" }), { ok: true, state: { back: true } });
    await back.end();
  },

  "14.7 drops": async (d, channel) => {
    const { game } = await d.paired(channel);
    assert.deepEqual(await game.must("get", "drops", { status: "*" }), { drops: [] });
    await game.end();
  },

  "14.8 the datastream": async (d, channel) => {
    const { game } = await d.paired(channel);
    await game.must("subscribe", "datastream", { topic_id: "" });
    const thrown = ["tomato", "Süßes", "egg", "pie", "rose", "boot"];
    for (const [n, item] of thrown.entries()) await d.write(channel, viewer("5"), "/datastream", { throw: item, n });
    const events = () => game.pushes.flatMap((push) => push.data.events);
    for (let n = 1; events().length < thrown.length; n++) await game.pushed(n, "datastream");
    assert.deepEqual(events().map(({ event }) => event), thrown.map((item, n) => ({ throw: item, n })));
    assert.ok(events().every(({ timestamp }) => Number.isInteger(timestamp)));
    await game.end();
  },

  "14.9 a match of five channels": async (d, channel) => {
    const { game } = await d.paired(channel, { role: "admin", user_id: "1000" });
    const id = "cup " + channel, channels = [channel, ...[1, 2, 3, 4].map((n) => channel + n)];
    await game.must("subscribe", "match_poll", { topic_id: id });
    await game.must("create", "match", { id });
    await game.must("add_channels", "match", { id, channel_ids: channels });
    await game.must("create", "match_poll", { id, poll: { poll_id: "default", prompt: "", options: ["a", "b"], user_data: null, config: { endsIn: 5 } } });
    await d.write(channels[2], viewer("5"), "/vote", { value: 1 });
    await game.pushed(1, "match_poll", (data) => data.status === "expired");
    const updates = await game.pushed(2, "match_poll");
    for (const { topic_id, match_id, overall, results } of updates) {
      assert.deepEqual([topic_id, match_id, overall.count, overall.results.length, overall.results[1]], [id, id, 1, 32, 1]);
      assert.deepEqual(Object.keys(results).sort(), [...channels].sort());
      assert.ok(Object.values(results).every((entry) => entry.results.length === 32));
    }
    assert.deepEqual(updates.map((update) => update.status).slice(-2), ["active", "expired"]);
    await game.end();
  },

  "14.10 purchases": async (d, channel) => {
    const { game } = await d.paired(channel);
    for (const target of ["twitchPurchaseBits", "transaction_complete"]) await game.must("subscribe", target, { sku: "*" });
    const encode = (value) => Buffer.from(JSON.stringify(value)).toString("base64"); // as the SDK does
    const receipt = { topic: "bits_transaction_receipt", exp: 1, data: { transactionId: "test:" + channel, time: "2026-01-31 18:00:00.5 +0000 UTC", userId: "5",
      product: { domainId: "twitch.ext.sample-extension", sku: "spoons", displayName: "Spoons", cost: { amount: 60, type: "bits" } } } };
    const bought = await d.rest(channel, viewer("5"), "POST", "/bits/transactions", { displayName: "Zed", transactionReceipt: `${encode({ alg: "HS256" })}.${encode(receipt)}.made_up` });
    assert.deepEqual(bought, { status: 201, body: {} });
    const [bits] = await game.pushed(1, "twitchPurchaseBits");
    const { muxy_id, ...rest } = bits;
    assert.notEqual(muxy_id, "");
    assert.deepEqual(rest, { id: "test:" + channel, sku: "spoons", displayName: "Spoons", userId: "5", username: "Zed", cost: 60, currency: "bits", timestamp: Date.parse("2026-01-31T18:00:00.5Z"), additional: { username_unverified: true } });

    await game.must("patch", "config", { config: [{ op: "add", path: "/skus", value: { life: { price: 10, displayName: "Extra life" } } }] });
    for (let n = 1; n <= 5; n++) {
      assert.deepEqual(await d.rest(channel, viewer("5"), "POST", "/coins/purchase", { sku: "life", price: 10 }), { status: 200, body: { balance: 60 - 10 * n } });
    }
    const pushed = (await game.pushed(6, "twitchPurchaseBits")).slice(1);
    assert.deepEqual(pushed.map(({ sku, currency, cost, userId }) => [sku, currency, cost, userId]), Array(5).fill(["life", "coins", 10, "5"]));
    assert.ok(pushed.every(({ timestamp }) => Math.abs(timestamp - Date.now()) < 3_600_000), "timestamps in ms");

    const { transactions } = await game.must("get", "transaction", { sku: "*" });
    assert.deepEqual(transactions, [bits, ...pushed]);
    await game.must("validate", "transaction", { transaction_id: muxy_id, details: "" });
    await game.must("refund", "transaction", { user_id: "5", sku: "life" });
    assert.deepEqual((await d.rest(channel, viewer("5"), "GET", "/coins")).body, { balance: 20 });
    assert.deepEqual((await game.must("get", "transaction", { sku: "*" })).transactions, pushed.slice(0, 4));
    await game.refused("validate", "transaction", { transaction_id: muxy_id, details: "" }, 404);
    await game.end();
  },

  "14.12 messages in pieces": async (d, channel) => {
    const { game } = await d.paired(channel);
    const message = JSON.stringify({ action: "get", params: { request_id: 900, target: "drops" }, data: { status: "*" } });
    const answered = new Promise((resolve) => game.open.set(900, { action: "get", target: "drops", resolve }));
    for (const [n, piece] of [...message].entries()) game.socket.send(piece, { fin: n === message.length - 1 });
    assert.deepEqual(await answered, { data: { drops: [] }, errors: undefined });
    await game.end();
  },

  "4.4 a revoked game is cut off": async (d, channel) => {
    const { game, refresh } = await d.paired(channel);
    assert.deepEqual((await d.rest(channel, { role: "broadcaster" }, "GET", "/pin_token_exists")).body, { exists: true });
    assert.equal((await d.rest(channel, { role: "broadcaster" }, "DELETE", "/pin")).status, 200);
    assert.equal(await game.closed, 4001);
    const back = await d.game();
    assert.equal(await back.refused("authenticate", "", { client_id: "sample-extension", refresh }, 400), "The refresh token is invalid");
    await back.end();
  },
};

test("what the clients check", { concurrency: true }, async (t) => {
  const runs = Object.entries(deployments).flatMap(([where, deployment], n) =>
    Object.entries(scenarios).map(([name, run], k) => t.test(`${name}, ${where}`, () => run(deployment, String(9000 + 100 * n + k)))));
  await Promise.all(runs);
});

// Each action once.
const actions = [
  ["subscribe", "authentication", {}],
  ["create", "poll", { poll_id: "p", prompt: "", options: ["a"] }],
  ["get", "poll", { poll_id: "p" }],
  ["reconfigure", "poll", { poll_id: "p", config: { disabled: true } }],
  ["subscribe", "poll", { topic_id: "*" }],
  ["unsubscribe", "poll", { topic_id: "*" }],
  ["delete", "poll", { poll_id: "p" }],
  ["set", "state", { state_id: "channel", state: {} }],
  ["get", "state", { state_id: "channel" }],
  ["patch", "state", { state_id: "channel", state: [{ op: "add", path: "/a", value: 1 }] }],
  ["subscribe", "state", { topic_id: "channel" }],
  ["unsubscribe", "state", { topic_id: "channel" }],
  ["update", "channel", { state: [{ op: "add", path: "/b", value: 1 }] }],
  ["set", "extension", { state: {} }],
  ["set", "config", { config: {} }],
  ["get", "config", { config_id: "combined" }],
  ["patch", "config", { config: [{ op: "add", path: "/a", value: 1 }] }],
  ["subscribe", "config", { config_id: "channel" }],
  ["unsubscribe", "config", { config_id: "channel" }],
  ["broadcast", "", { topic: "boom", data: {} }],
  ["subscribe", "datastream", {}],
  ["unsubscribe", "datastream", {}],
  ["subscribe", "twitchPurchaseBits", { sku: "*" }],
  ["unsubscribe", "twitchPurchaseBits", { sku: "*" }],
  ["get", "transaction", { sku: "*" }],
  ["validate", "transaction", { transaction_id: "x", details: "" }],
  ["refund", "transaction", { user_id: "5", sku: "x" }],
  ["subscribe", "matchmaking", { operation: "invite" }],
  ["unsubscribe", "matchmaking", { operation: "invite" }],
  ["clear", "matchmaking", {}],
  ["remove", "matchmaking", { id: "x" }],
  ["get", "drops", { status: "*" }],
  ["validate", "drops", { id: "x" }],
  ["set", "gameMetadata", { name: "Tea", logo: "", theme: "" }],
  ["set", "gatewayActions", { actions: [{ id: "bomb", category: "hinder", state: "available", impact: 3, name: "B", description: "", icon: "", count: 5 }] }],
  ["set", "gatewayActionState", { id: "bomb", count: 4 }],
  ["create", "match", { id: "m" }],
  ["keepalive", "match", { id: "m" }],
  ["add_channels", "match", { id: "m", channel_ids: ["9900"] }],
  ["broadcast", "match", { match_id: "m", topic: "boom", data: {} }],
  ["subscribe", "match_poll", { topic_id: "m" }],
  ["create", "match_poll", { id: "m", poll: { poll_id: "q", prompt: "", options: ["a"] } }],
  ["reconfigure", "match_poll", { id: "m", poll_id: "q", config: { disabled: true } }],
  ["delete", "match_poll", { id: "m", poll_id: "q" }],
  ["unsubscribe", "match_poll", { topic_id: "m" }],
  ["remove_channels", "match", { id: "m", channel_ids: ["9900"] }],
];

test("every action has an outcome, which the page about moving names", async () => {
  const d = deployments["one process"];
  const outcome = ({ data, errors }) => {
    if (errors) return `${errors[0].number}: ${errors[0].detail}`;
    const nothing = Object.entries(data).some(([, value]) => Array.isArray(value) && value.length === 0);
    return nothing ? `empty: \`${JSON.stringify(data)}\`` : "works";
  };
  const [{ game: server }, { game }] = [await d.paired("9900", { role: "admin", user_id: "1000" }), await d.paired("9900")];
  const table = [];
  for (const [action, target, data] of actions) {
    const answers = [await server.request(action, target, data), await game.request(action, target, data)].map(outcome);
    table.push(`| \`${action}\`${target && ` \`${target}\``} | ${answers[1]} | ${answers[0] === answers[1] ? "the same" : answers[0]} |`);
  }
  await Promise.all([server.end(), game.end()]);
  const moving = await readFile(path.join(root, "services/docs/moving-methods.md"), "utf8");
  assert.ok(moving.includes(table.join("\n")), "services/docs/moving-methods.md must have\n" + table.join("\n"));
});

test("a token of the platform authenticates in production", async () => {
  const game = await Game.connect(deployments["one process"].next.games);
  const { twitch_id } = await game.authenticate({ jwt: sign({ role: "broadcaster", channel_id: "1", user_id: "1", opaque_user_id: "U1" }) });
  assert.equal(twitch_id, "1");
  await game.end();
});
