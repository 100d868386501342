// A poll as an overlay for broadcast software. What is shown is what the API says;
// the address says how.

import { Client, Refused } from "./client.js";
import { followAnswers } from "./cloud.js";

const query = new URLSearchParams(location.search);
const secret = new URLSearchParams(location.hash.slice(1));
const poll = query.get("poll") || "default";
const question = query.get("question");
const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
const replayed = still ? 0 : Number(query.get("replay")) || 0; // seconds
const hidden = new Set((query.get("hide") ?? "").split(","));
const labels = query.get("labels")?.split("|");
const show = query.get("show") ?? "both";
const own = /^\/(?![/\\])/.test(query.get("base") ?? "") ? query.get("base") : null; // of this server
const base = own ?? (query.get("env") === "sandbox" ? "/sandbox/v1" : "/v1");
const credential = secret.get("access_token");
const id = (name) => document.getElementById(name);
const number = new Intl.NumberFormat("en");

// What is known of the poll.
let config = null; // as GET /poll has it; null: none is saved
let stats = null; // that are shown
let latest = null; // that are in force
let moment = null; // of a replay, in seconds
let skew = 0; // of the server's clock, in milliseconds
let heard = 0; // events, to tell whether one came while something was read
let bars = []; // elements by option

function begin() {
  document.documentElement.dataset.theme = query.get("theme") ?? "dark";
  if (/^[0-9a-f]{6}$/i.test(query.get("accent") ?? "")) {
    document.documentElement.style.setProperty("--accent", "#" + query.get("accent"));
    document.documentElement.dataset.accented = "";
  }
  entitle();
  id("total").hidden = hidden.has("total");
  if (!credential) return help();
  document.querySelector(".poll").hidden = false;
  const client = new Client(base, credential);
  if (question !== null) return showQuestion(client);
  client.listen([`poll_update:${poll}`, `vote_update:${poll}`, `vote_delete:${poll}`], {
    opened: () => { say(""); read(client).then(() => replay(client)); },
    closed: (reason) => { say(reason); check(client); },
    heard: (name, data) => {
      heard++;
      if (name.startsWith("vote_delete:")) return read(client);
      if (name.startsWith("poll_update:")) config = data;
      else keep(data.stats);
      render();
    },
  });
  setInterval(tick, 250); // of the countdown: nothing is asked for
  setInterval(speak, 10000);
}

function showQuestion(client) {
  document.documentElement.toggleAttribute("data-cloud", true);
  id("options").hidden = true;
  id("cloud").hidden = false;
  followAnswers(client, question, { say, check });
}

// keep takes statistics over, which are shown unless older ones are.
function keep(tally) {
  latest = tally;
  if (moment === null) stats = latest;
}

let played = false;

// replay shows the past of the poll once, and then the present.
async function replay(client) {
  if (played || !(replayed > 0)) return;
  played = true;
  try {
    const { points } = await client.request("GET", `/vote_history?id=${encodeURIComponent(poll)}`);
    const begun = performance.now();
    const frame = () => {
      const point = points[Math.floor(((performance.now() - begun) / (replayed * 1000)) * points.length)];
      moment = point?.at ?? null;
      stats = point ?? latest;
      render();
      if (point) requestAnimationFrame(frame);
    };
    if (points.length > 0) frame();
  } catch (e) {
    say(e instanceof Refused ? e.message : "Reconnecting…");
  }
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
    const named = `?id=${encodeURIComponent(poll)}`;
    const [tally, time, saved] = await Promise.all([client.request("GET", `/vote${named}`), readTime(client), readConfig(client, named)]);
    skew = time - Date.now();
    if (before !== heard && stats) return;
    keep(tally);
    config = saved;
    render();
  } catch (e) {
    say(e instanceof Refused ? e.message : "Reconnecting…");
  }
}

// readTime returns the server's time, or this machine's with an overlay key, which may not
// read it.
async function readTime(client) {
  return isOverlayKey() ? Date.now() : (await client.request("GET", "/user_info")).server_time;
}

// isOverlayKey reports whether the credential is an overlay key, which reads what it shows and
// nothing else.
function isOverlayKey() {
  try {
    const claims = credential.split(".").at(-2).replaceAll("-", "+").replaceAll("_", "/");
    return JSON.parse(atob(claims)).role === "overlay";
  } catch {
    return false; // the server says why
  }
}

// readConfig returns the configuration, null when none is saved.
async function readConfig(client, named) {
  try {
    return await client.request("GET", `/poll${named}`);
  } catch (e) {
    if (e instanceof Refused && e.status === 404) return null;
    throw e;
  }
}

// entitle shows the title of the address or else the poll's own.
function entitle() {
  const title = query.get("title") ?? config?.prompt ?? "";
  id("title").textContent = title;
  id("title").hidden = hidden.has("title") || !title;
}

// check finds out whether there is no use in trying to listen: it reads what is shown.
async function check(client) {
  try {
    await client.request("GET", question === null ? `/vote?id=${encodeURIComponent(poll)}` : `/rank?id=${encodeURIComponent(question)}&limit=1`);
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

// summary returns the number of votes, or when there will be figures.
function summary() {
  if (stats.hidden && !config?.showCount) {
    return config?.resultsVisibility === "afterClose" || config?.resultsVisibility === "afterVote" ? "Results when the poll closes" : "Results are not shown yet";
  }
  return `${number.format(stats.count)} ${stats.count === 1 ? "vote" : "votes"}`;
}

function render() {
  if (!stats) return;
  entitle();
  const shown = options().map((o) => ({ ...o, votes: stats.specific[o.value] ?? 0 }));
  const sum = shown.reduce((n, o) => n + o.votes, 0);
  const most = Math.max(1, ...shown.map((o) => o.votes));
  arrange(shown);
  shown.forEach((o, i) => {
    const share = sum > 0 ? o.votes / sum : 0;
    const percent = `${Math.round(share * 100)}%`, votes = number.format(o.votes);
    bars[i].label.textContent = o.label;
    bars[i].figure.textContent = stats.hidden ? "" : { percent, votes }[show] ?? `${percent} · ${votes}`;
    bars[i].bar.style.transform = `scaleX(${share})`;
    bars[i].item.dataset.leads = !stats.hidden && o.votes === most;
  });
  id("total").textContent = summary();
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

// secondsUntil returns how long it is until a time of the server, null when there is none.
function secondsUntil(time) {
  return time ? Math.max(0, Math.ceil(time - (Date.now() + skew) / 1000)) : null;
}

// closed reports whether the poll has ended.
const closed = () => config?.status === "expired" || secondsUntil(config?.endsAt) === 0;

// countdown returns what stands beside the title: the time until the poll begins or ends.
function countdown() {
  const text = (left) => `${Math.floor(left / 60)}:${String(left % 60).padStart(2, "0")}`;
  if (moment !== null) return `Replay ${new Date(moment * 1000).toLocaleTimeString("en", { timeStyle: "short" })}`;
  const begins = secondsUntil(config?.startsAt), ends = secondsUntil(config?.endsAt);
  if (closed()) return "Closed";
  if (config?.disabled) return "Paused";
  if (begins) return `Begins in ${text(begins)}`;
  return ends === null ? "" : text(ends);
}

// tick shows it.
function tick() {
  const text = countdown(), left = secondsUntil(config?.endsAt);
  id("countdown").hidden = !text || hidden.has("countdown");
  id("countdown").textContent = text;
  id("countdown").dataset.soon = left > 0 && left <= 10;
}

// speak tells screen readers now and then how it stands, and only if that is new.
function speak() {
  if (!stats) return;
  const shown = options().map((o) => ({ ...o, votes: stats.specific[o.value] ?? 0 }));
  const sum = shown.reduce((n, o) => n + o.votes, 0);
  const most = Math.max(0, ...shown.map((o) => o.votes));
  const first = shown.filter((o) => o.votes === most).map((o) => o.label);
  let text = closed() ? "The poll is closed. Nobody has voted." : "No votes yet.";
  if (stats.hidden) text = `${summary()}.`;
  else if (sum > 0) {
    const verb = closed() ? ["has won", "have tied"] : ["leads", "are level"];
    text = `${first.join(" and ")} ${verb[first.length > 1 ? 1 : 0]} with ${Math.round((most / sum) * 100)} percent of ${number.format(sum)} votes.`;
  }
  if (id("spoken").textContent !== text) id("spoken").textContent = text;
}

begin();
