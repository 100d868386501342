// A poll as an overlay for broadcast software. What is shown is what the API says;
// the address says how.

import { Client, Refused } from "./client.js";

const query = new URLSearchParams(location.search);
const secret = new URLSearchParams(location.hash.slice(1));
const poll = query.get("poll") || "default";
const hidden = new Set((query.get("hide") ?? "").split(","));
const labels = query.get("labels")?.split("|");
const show = query.get("show") ?? "both";
const own = /^\/(?!\/)/.test(query.get("base") ?? "") ? query.get("base") : null; // of this server
const base = own ?? (query.get("env") === "sandbox" ? "/sandbox/v1" : "/v1");
const credential = secret.get("access_token");
const id = (name) => document.getElementById(name);
const number = new Intl.NumberFormat("en");

// What is known of the poll.
let config = null; // null: none is saved
let stats = null;
let skew = 0; // of the server's clock, in milliseconds
let heard = 0; // events, to tell whether one came while something was read
let bars = []; // elements by option

function begin() {
  document.documentElement.dataset.theme = query.get("theme") ?? "dark";
  if (/^[0-9a-f]{6}$/i.test(query.get("accent") ?? "")) {
    document.documentElement.style.setProperty("--accent", "#" + query.get("accent"));
    document.documentElement.dataset.accented = "";
  }
  id("title").textContent = query.get("title") ?? "";
  id("title").hidden = hidden.has("title") || !query.get("title");
  id("total").hidden = hidden.has("total");
  if (!credential) return help();
  const client = new Client(base, credential);
  client.listen([`vote_update:${poll}`, `vote_delete:${poll}`], {
    opened: () => { say(""); read(client); },
    closed: (reason) => { say(reason); check(client); },
    heard: (name, data) => {
      heard++;
      if (name.startsWith("vote_delete:")) readConfig(client);
      else { stats = data.stats; render(); }
    },
  });
  setInterval(tick, 250);
  setInterval(() => readConfig(client), 10000); // nothing tells when it changes
  setInterval(speak, 10000);
  document.querySelector(".poll").hidden = false;
}

function help(problem = "") {
  id("problem").textContent = problem;
  document.querySelector(".poll").hidden = true;
  document.querySelector(".help").hidden = false;
}

function say(text) { id("state").textContent = text; }

// read reads all there is to know. An event that comes meanwhile is at least as
// new, or is followed by one that is.
async function read(client) {
  const before = heard;
  try {
    const [tally, info] = await Promise.all([client.request("GET", `/vote?id=${encodeURIComponent(poll)}`), client.request("GET", "/user_info")]);
    skew = info.server_time - Date.now();
    if (before === heard) stats = tally;
    await readConfig(client);
  } catch (e) {
    say(e instanceof Refused ? e.message : "Reconnecting…");
  }
}

async function readConfig(client) {
  try {
    config = await client.request("GET", `/vote_config?id=${encodeURIComponent(poll)}`);
  } catch (e) {
    if (!(e instanceof Refused) || e.status !== 404) return; // it is asked for again
    config = null;
  }
  render();
}

// check finds out whether there is no use in trying to listen.
async function check(client) {
  try {
    await client.request("GET", "/user_info");
  } catch (e) {
    if (e instanceof Refused && e.status === 401) say("The access token has ended or is not valid here.");
  }
}

// options returns the names of the options, by the value that is a vote for each.
function options() {
  const named = labels ?? config?.options ?? [];
  if (named.length > 0) return named.map((label, value) => ({ value, label }));
  return (stats?.specific ?? []).map((votes, value) => ({ value, label: `Option ${value}`, votes })).filter((o) => o.votes > 0);
}

function render() {
  if (!stats) return;
  const shown = options().map((o) => ({ ...o, votes: stats.specific[o.value] ?? 0 }));
  const sum = shown.reduce((n, o) => n + o.votes, 0);
  const most = Math.max(1, ...shown.map((o) => o.votes));
  arrange(shown);
  shown.forEach((o, i) => {
    const share = sum > 0 ? o.votes / sum : 0;
    const percent = `${Math.round(share * 100)}%`, votes = number.format(o.votes);
    bars[i].label.textContent = o.label;
    bars[i].figure.textContent = { percent, votes }[show] ?? `${percent} · ${votes}`;
    bars[i].bar.style.transform = `scaleX(${share})`;
    bars[i].item.dataset.leads = o.votes === most;
  });
  id("total").textContent = `${number.format(stats.count)} ${stats.count === 1 ? "vote" : "votes"}`;
  if (!id("spoken").textContent) speak();
  tick();
}

// How the options are laid out: what is long has two lines if there are few, and
// where there are many they have two columns.
const longLabel = 22, fewOptions = 4, manyOptions = 6;

// arrange makes as many bars as there are options, and room for them.
function arrange(shown) {
  const root = document.documentElement, n = shown.length;
  root.style.setProperty("--rows", Math.max(n, 1));
  root.style.setProperty("--half", Math.ceil(n / 2));
  root.toggleAttribute("data-long", n <= fewOptions && shown.some((o) => o.label.length > longLabel));
  root.toggleAttribute("data-many", n >= manyOptions);
  while (bars.length > shown.length) bars.pop().item.remove();
  while (bars.length < shown.length) {
    const item = document.createElement("li"), part = (name) => {
      const span = document.createElement("span");
      span.className = name;
      item.append(span);
      return span;
    };
    item.className = "option";
    bars.push({ item, bar: part("bar"), label: part("label"), figure: part("figure") });
    id("options").append(item);
  }
}

// secondsLeft returns how long the poll goes on, null when it has no end.
function secondsLeft() {
  return config?.endsAt ? Math.max(0, Math.ceil(config.endsAt - (Date.now() + skew) / 1000)) : null;
}

// tick shows it.
function tick() {
  const left = secondsLeft();
  id("countdown").hidden = left === null || hidden.has("countdown");
  if (left === null) return;
  const minutes = Math.floor(left / 60), seconds = String(left % 60).padStart(2, "0");
  id("countdown").textContent = left > 0 ? `${minutes}:${seconds}` : "Closed";
  id("countdown").dataset.soon = left > 0 && left <= 10;
}

// speak tells screen readers now and then how it stands, and only if that is new.
function speak() {
  if (!stats) return;
  const shown = options().map((o) => ({ ...o, votes: stats.specific[o.value] ?? 0 }));
  const sum = shown.reduce((n, o) => n + o.votes, 0);
  const most = Math.max(0, ...shown.map((o) => o.votes));
  const first = shown.filter((o) => o.votes === most).map((o) => o.label);
  const closed = secondsLeft() === 0;
  let text = closed ? "The poll is closed. Nobody has voted." : "No votes yet.";
  if (sum > 0) {
    const verb = closed ? ["has won", "have tied"] : ["leads", "are level"];
    text = `${first.join(" and ")} ${verb[first.length > 1 ? 1 : 0]} with ${Math.round((most / sum) * 100)} percent of ${number.format(sum)} votes.`;
  }
  if (id("spoken").textContent !== text) id("spoken").textContent = text;
}

begin();
