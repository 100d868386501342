// A console to try a poll with: it asks as the broadcaster, votes as a crowd of
// viewers and shows the overlay. All that it does anybody could do with the API of
// the sandbox.

import { Client, Refused } from "./client.js";

const base = "/sandbox/v1";
const id = (name) => document.getElementById(name);
const number = new Intl.NumberFormat("en");
const beat = 100; // milliseconds between two rounds of votes
const patience = 5; // seconds until a viewer votes again
const lanes = 4; // requests at a time: browsers allow few to one server

let running = null; // the poll that is on
let accepted = 0, refused = 0, before = 0;

// token returns the credential of somebody in the sandbox.
async function tokens(request) {
  const answer = await new Client(base).request("POST", "/authtoken", request);
  return (answer.tokens ?? [answer.token]).map((token) => `${request.extension_id} ${token}`);
}

async function start(form) {
  const value = Object.fromEntries(new FormData(form));
  const who = { extension_id: value.extension, channel_id: value.channel };
  const options = value.options.split("\n").map((line) => line.trim()).filter((line) => line !== "");
  const [broadcaster] = await tokens({ ...who, role: "broadcaster" });
  const [viewer] = await tokens({ ...who, role: "viewer" });
  const host = new Client(base, broadcaster);
  const config = { options, prompt: value.title, strict: true };
  if (value.minutes > 0) config.endsAt = Math.floor(Date.now() / 1000) + 60 * value.minutes;
  const id = encodeURIComponent(value.poll);
  await host.request("DELETE", `/vote?id=${id}`);
  await host.request("POST", "/vote_config", { id: value.poll, config });
  running = { host, who, id: value.poll, path: `/vote?id=${id}`, config, crowd: running?.crowd ?? [], favourite: Math.floor(Math.random() * options.length) };
  const query = new URLSearchParams({ env: "sandbox", poll: "*" });
  watch(new URL(`./?${query}#access_token=${encodeURIComponent(viewer)}`, location.href), broadcaster);
}

function watch(address, broadcaster) {
  id("overlay").src = "about:blank"; // a new fragment alone would load nothing
  setTimeout(() => { id("overlay").src = address; }, 0);
  id("address").value = address;
  id("staff").hash = `access_token=${encodeURIComponent(broadcaster)}`;
  for (const name of ["crowd", "close", "delete"]) id(name).disabled = false;
}

// gather makes the crowd as large as the slider says.
async function gather(size) {
  const crowd = running.crowd;
  while (crowd.length < size) {
    const first = 100000 + crowd.length, more = Math.min(500, size - crowd.length);
    const user_ids = Array.from({ length: more }, (_, n) => String(first + n));
    crowd.push(...(await tokens({ ...running.who, role: "viewer", user_ids })).map((t) => new Client(base, t)));
  }
}

// choice is what a viewer votes for: one option is liked better than the others.
function choice() {
  const options = running.config.options.length;
  return Math.random() < 0.35 ? running.favourite : Math.floor(Math.random() * options);
}

async function vote(viewer) {
  try {
    await viewer.request("POST", running.path, { value: choice() });
    accepted++;
    say("");
  } catch (e) {
    refused++;
    say(e instanceof Refused ? `A vote was refused: ${e.message}` : "The server cannot be reached.");
  }
}

// round has as many viewers vote as want to in a beat.
async function round() {
  const size = Number(id("crowd").value);
  if (!running || size === 0) return;
  await gather(size);
  const wanted = (size / patience) * (beat / 1000);
  const votes = Math.floor(wanted) + (Math.random() < wanted % 1 ? 1 : 0);
  const voters = Array.from({ length: votes }, () => running.crowd[Math.floor(Math.random() * size)]);
  await Promise.all(Array.from({ length: lanes }, async () => {
    for (let v = voters.pop(); v; v = voters.pop()) await vote(v);
  }));
}

async function loop() {
  for (;;) {
    const next = new Promise((done) => setTimeout(done, beat));
    await attempt(round);
    await next;
  }
}

async function attempt(action) {
  try {
    await action();
  } catch (e) {
    say(e instanceof Refused ? e.message : "The server cannot be reached.");
  }
}

function say(text) {
  if (id("message").textContent !== text) id("message").textContent = text;
}

function count() {
  id("accepted").textContent = number.format(accepted);
  id("refused").textContent = number.format(refused);
  id("pace").textContent = number.format(accepted - before);
  before = accepted;
}

id("setup").addEventListener("submit", (event) => {
  event.preventDefault();
  say("");
  attempt(() => start(event.target));
});
id("crowd").addEventListener("input", () => { id("crowd-size").value = number.format(id("crowd").value); });
id("close").addEventListener("click", () => attempt(() =>
  running.host.request("PATCH", "/vote_config", { id: running.id, config: { endsAt: -1 } })));
id("delete").addEventListener("click", () => attempt(() => running.host.request("DELETE", running.path)));
setInterval(count, 1000);
loop();
