// The client and its examples against the program.

import assert from "node:assert/strict";
import { once } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { after, before, test } from "node:test";

import { Acclaim, AcclaimError, content, followResult, pictureAddress } from "acclaim-client";

import { kill, Lab, root, send, sign, token } from "../../../../hack/browser/program.mjs";
import { submit } from "../dist/examples/bot.js";
import { run } from "../dist/examples/front-end.js";
import { receive } from "../dist/examples/webhook.js";

let lab, origin;

before(async () => {
  lab = await Lab.open();
  ({ origin } = await lab.serve());
});

after(() => lab?.close());

const client = async (who, options = {}) => new Acclaim({ baseUrl: origin + "/sandbox/v1", credential: await token(origin, who), ...options });
const configure = async (id, config) => send(origin, await token(origin, { role: "broadcaster" }), "POST", "/vote_config", { id, config });
const poll = (id) => ({ params: { query: { id } } });

test("requests have answers, or throw reasons", async () => {
  const { api } = await client({ role: "viewer", user_id: "5" });
  const { count, vote } = await content(api.POST("/vote", { ...poll("typed"), body: { value: 3 } }));
  assert.deepEqual([count, vote], [1, 3]);
  await assert.rejects(content(api.POST("/vote", { ...poll("typed"), body: { value: 300 } })), new AcclaimError(400, "Value out of bounds"));
  await assert.rejects(content(api.GET("/user_ids")), { status: 403 });
});

test("a token that was refused is renewed", async () => {
  const good = await token(origin, { role: "viewer" }), asked = [];
  const { api } = await client({ role: "viewer" }, { credential: (refused) => { asked.push(refused); return refused ? good : "sample-extension old"; } });
  await content(api.GET("/user_info"));
  assert.deepEqual(asked, [undefined, "sample-extension old"]);
});

test("a vote whose answer was lost counts once", async () => {
  await configure("lossy", { totalVotesPerUser: 9, votesPerOption: 9 });
  let requests = 0;
  const lossy = async (request) => {
    const answer = await fetch(request);
    if (requests++ === 0) throw new TypeError("the connection broke");
    return answer;
  };
  const { api } = await client({ role: "viewer", user_id: "6" }, { fetch: lossy });
  const { count } = await content(api.POST("/vote", { ...poll("lossy"), body: { value: 1 } }));
  assert.deepEqual([requests, count], [2, 1]);
});

test("events resume after an outage", async () => {
  let server = await lab.serve({ data: "resumed" });
  const base = server.origin;
  const say = async (event) => send(base, await token(base, { role: "broadcaster" }), "POST", "/broadcast", { event, data: { event } });
  const acclaim = new Acclaim({ baseUrl: base + "/sandbox/v1", credential: await token(base, { role: "viewer" }) });
  let subscribed = () => {};
  const begun = new Promise((resolve) => { subscribed = resolve; });
  let interruptions = 0;
  const events = acclaim.events(["first", "second"], { onSubscribed: subscribed, onInterrupted: () => { interruptions++; } });
  const next = async () => {
    for (;;) {
      const { value } = await events.next();
      if (value.name !== "resync") return value;
    }
  };
  const first = next();
  await begun;
  await say("first");
  assert.deepEqual(await first, { target: "broadcast", name: "first", data: { event: "first" } });
  assert.equal(interruptions, 0);
  await kill(server);
  server = await lab.serve({ data: "resumed", port: new URL(base).port });
  await say("second"); // perhaps before the client is back
  assert.deepEqual(await next(), { target: "broadcast", name: "second", data: { event: "second" } });
  assert.ok(interruptions > 0);
  await events.return();
});

test("a subscription that is refused says why", async () => {
  const acclaim = await client({ role: "viewer" });
  await assert.rejects(acclaim.events(["accumulate:art"]).next(), { status: 403 });
});

test("a poll that the client makes is strict", async () => {
  const acclaim = await client({ role: "broadcaster" }), { api } = await client({ role: "viewer", user_id: "9" });
  const options = ["Yes", "No"];
  await acclaim.configurePoll("dog", { prompt: "Keep the dog?", options });
  await assert.rejects(content(api.POST("/vote", { ...poll("dog"), body: { value: 2 } })), new AcclaimError(400, "value names no option of the poll"));
  await content(api.POST("/vote", { ...poll("dog"), body: { value: 0 } }));
  await assert.rejects(acclaim.configurePoll("dog", { prompt: "Sell the dog?", options }), { status: 409 });
  await acclaim.configurePoll("dog", { prompt: "Sell the dog?", options }, true);
  assert.equal((await content(api.GET("/poll", poll("dog")))).prompt, "Sell the dog?");
});

test("a poll is changed in some members", async () => {
  const acclaim = await client({ role: "broadcaster" });
  await acclaim.configurePoll("cat", { prompt: "Kep the cat?", options: ["Yes", "No"] });
  await content(acclaim.api.POST("/vote", { ...poll("cat"), body: { value: 0 } }));
  await assert.rejects(acclaim.changePoll("cat", { prompt: "Keep the cat?" }), { status: 409 });
  await acclaim.changePoll("cat", { prompt: "Keep the cat?", endsAt: -1 }, true);
  const { prompt, options, status } = await content(acclaim.api.GET("/poll", poll("cat")));
  assert.deepEqual([prompt, options, status], ["Keep the cat?", ["Yes", "No"], "expired"]);
  assert.equal((await content(acclaim.api.GET("/vote", poll("cat")))).count, 1);
  await acclaim.clearVotes("cat");
  assert.equal((await content(acclaim.api.GET("/vote", poll("cat")))).count, 0);
  assert.equal((await content(acclaim.api.GET("/poll", poll("cat")))).prompt, "Keep the cat?");
});

test("a public result is followed without a credential, over an outage", async () => {
  let server = await lab.serve({ data: "followed" });
  const base = server.origin, ended = new AbortController();
  const staff = async (config) => send(base, await token(base, { role: "broadcaster" }), "POST", "/vote_config", { id: "a/b", config });
  const vote = async (user) => send(base, await token(base, { role: "viewer", user_id: user }), "POST", "/vote?id=a%2Fb", { value: 1 });
  let interruptions = 0;
  const asked = [];
  const results = followResult(base + "/sandbox", { client: "sample-extension", channel: "1", poll: "a/b" }, {
    signal: ended.signal, onInterrupted: () => { interruptions++; },
    fetch: (address, options) => { asked.push(options.headers); return fetch(address, options); },
  });
  // next returns the next result that fits: one may be of before the last write.
  const next = async (fits) => {
    for (;;) {
      const { value } = await results.next();
      if (fits(value)) return value;
    }
  };
  assert.equal((await results.next()).value, null);
  await staff({ prompt: "Which?", publicResults: true });
  assert.equal((await next((r) => r !== null)).now.poll.prompt, "Which?");
  await vote("1");
  await next((r) => r.now.votes.count === 1);
  await kill(server);
  server = await lab.serve({ data: "followed", port: new URL(base).port });
  await vote("2");
  await next((r) => r.now.votes.count === 2);
  assert.ok(asked.some((headers) => headers["If-None-Match"]) && asked.every((headers) => !("Authorization" in headers)));
  await staff({ prompt: "Which?" });
  await next((r) => r === null);
  ended.abort();
  assert.equal((await results.next()).done, true);
  await assert.rejects(followResult(base + "/sandbox", { client: "a", channel: "1", poll: "b" }, { fetch: async () => new Response('{"reason":"no"}', { status: 400 }) }).next(), new AcclaimError(400, "no"));
});

test("a picture's address has its parts encoded", () => {
  assert.equal(pictureAddress("https://acclaim.example/sandbox", "c", "a/b ?", "x-_"), "https://acclaim.example/sandbox/public/c/a%2Fb%20%3F/x-_/picture.png");
});

test("example: a front end shows votes", async () => {
  await configure("front", { prompt: "Tea?", options: ["Yes", "No"] });
  const [, jwt] = (await token(origin, { role: "viewer", user_id: "7" })).split(" ");
  const ended = new AbortController();
  let choose, shown = () => {};
  const two = new Promise((resolve) => { shown = resolve; });
  const view = {
    ask: (prompt, options, callback) => { assert.deepEqual([prompt, options], ["Tea?", ["Yes", "No"]]); choose = callback; },
    show: (votes, chosen) => { if (chosen === 1 && votes[1] === 2) shown(); if (chosen === undefined) choose(1); },
    complain: (reason) => assert.fail(reason),
  };
  const helper = { onAuthorized: (callback) => setTimeout(callback, 0, { clientId: "sample-extension", token: jwt }) };
  const page = run(origin + "/sandbox/v1", helper, "front", view, ended.signal);
  await send(origin, await token(origin, { role: "viewer", user_id: "8" }), "POST", "/vote?id=front", { value: 1 });
  await two;
  ended.abort();
  await page;
});

test("example: a bot submits what a chat says", async () => {
  await configure("chat", { options: ["a", "b"], userIDVoting: true });
  const messages = [["m1", "21", "!vote 2"], ["m2", "22", "hello"], ["m3", "23", "!vote 1"], ["m4", "24", "!vote 900"]].map(([id, userId, text]) => ({ id, userId, text }));
  const credential = await token(origin, { role: "backend" });
  for (let n = 0; n < 2; n++) {
    assert.deepEqual(await submit(origin + "/sandbox/v1", credential, "chat", messages), new Map([["24", "Value out of bounds"]]));
  }
  const { api } = await client({ role: "viewer" });
  assert.deepEqual((await content(api.GET("/vote", poll("chat")))).specific.slice(0, 2), [1, 1]);
});

test("example: a receiver accepts what the service has signed", async () => {
  const secret = "whsec_c2FtcGxlLXdlYmhvb2stc2VjcmV0LTAxMjM0NTY3ODk=";
  let arrived = () => {};
  const delivery = new Promise((resolve) => { arrived = resolve; });
  const receiver = receive(secret, async (event) => { if (event.event.endsWith(":news")) arrived(event); }).listen(0, "127.0.0.1");
  await once(receiver, "listening");
  const url = `http://127.0.0.1:${receiver.address().port}/`;
  const forged = await fetch(url, { method: "POST", body: "{}", headers: { "webhook-id": "1", "webhook-timestamp": String(Math.floor(Date.now() / 1000)), "webhook-signature": "v1,AAAA" } });
  assert.equal(forged.status, 401);

  const sample = await readFile(path.join(root, "config/extensions.yaml"), "utf8");
  const registry = path.join(lab.folder, "extensions.yaml");
  await writeFile(registry, sample.replace("\n  secrets:", `\n  sinks: [{name: hook, webhook: {url: "${url}", secrets: [{value: "${secret}"}]}}]\n  secrets:`));
  const server = await lab.serve({ data: "hooked", args: ["--extensions", registry, "--sink-allow-private"] });
  const answer = await fetch(server.origin + "/v1/broadcast", {
    method: "POST", body: JSON.stringify({ event: "news", data: { a: 1 } }),
    headers: { Authorization: "sample-extension " + sign({ role: "broadcaster", channel_id: "1", user_id: "1" }) },
  });
  assert.equal(answer.status, 200, await answer.text());
  const { event, data } = await delivery;
  assert.deepEqual([event, data], ["production:sample-extension:news", { a: 1 }]);
  await kill(server);
  receiver.close();
});
