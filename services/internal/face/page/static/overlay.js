// A poll as an overlay for broadcast software: one poll, or whichever is live. What is shown
// is what the API says; the address says how. Where there is no poll the page is empty.

import { Client, Refused } from "./client.js";
import { followAnswers } from "./cloud.js";
import { LivePoll } from "./live.js";
import { pictureAddress, showPicture } from "./pictures.js";
import { followPublic, publicPath } from "./public.js";
import { outcome, percentages } from "./tally.js";
import { language, list, number, percent, text } from "./texts.js";

const query = new URLSearchParams(location.search);
const secret = new URLSearchParams(location.hash.slice(1));
const questions = query.getAll("question"); // in place of a poll
const wanted = query.get("poll") || "*"; // the id of a poll, or the live one
const linger = Number(query.get("linger") ?? 15); // seconds
const live = wanted === "*" && questions.length === 0 ? new LivePoll(linger) : null;
const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
const replayed = still ? 0 : Number(query.get("replay")) || 0; // seconds
const hidden = new Set((query.get("hide") ?? "").split(","));
const labels = query.get("labels")?.split("|");
const show = query.get("show") ?? "both";
const own = /^\/(?![/\\])/.test(query.get("base") ?? "") ? query.get("base") : null; // of this server
const base = own ?? (query.get("env") === "sandbox" ? "/sandbox/v1" : "/v1");
const credential = secret.get("access_token");
const owner = query.get("public"); // of a public result, which needs no credential
const id = (name) => document.getElementById(name);

const place = owner === null ? placeOf(credential) : [owner.split("/")[0], owner.split("/").slice(1).join("/")]; // client id and channel

// What is known of the poll.
let poll = live ? null : wanted; // its id; null: none is live
let config = null; // as GET /poll has it; null: none is saved
let stats = null; // that are shown
let latest = null; // that are in force
let moment = null; // of a replay, in seconds
let client = null;
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
  if (owner !== null) return showPublic();
  if (!credential) return help();
  client = new Client(base, credential);
  if (questions.length > 0) return showQuestion();
  expectPeople();
  render();
  // Without topics, an overlay key of some polls hears of these.
  const topics = live && isOverlayKey() ? [] : ["poll_update:", "vote_update:", "vote_delete:"].map((name) => name + wanted);
  client.listen(topics, {
    opened: () => { say(""); (live ? readLive() : read().then(replay)); },
    closed: () => { say(text("reconnecting")); check(); },
    heard: hear,
  });
  setInterval(() => { if (live) turnTo(live.pick()); tick(); }, 250); // nothing is asked for
  setInterval(speak, 10000);
}

// hear takes an event over.
function hear(name, data) {
  const colon = name.indexOf(":") + 1, [kind, about] = [name.slice(0, colon), name.slice(colon)];
  if (live && kind === "poll_update:") turnTo(live.update(data));
  if (live && kind === "vote_delete:" && live.polls.has(about)) return readLive();
  if (about !== poll) return;
  heard++;
  if (kind === "vote_delete:") return read();
  if (kind === "poll_update:") config = data;
  else if (kind === "vote_update:") keep(data.stats);
  render();
}

// readLive finds out which poll is live, and reads it.
async function readLive() {
  try {
    const found = await live.read(client);
    if (!turnTo(found) && found) await read();
  } catch (e) {
    say(e instanceof Refused ? e.message : text("reconnecting"));
  }
}

// turnTo shows another poll, or none, and reports whether it is not the one that was shown.
function turnTo(next) {
  if ((next?.id ?? null) === poll) return false;
  [poll, config, stats, latest] = [next?.id ?? null, next, null, null];
  render();
  if (next) read();
  return true;
}

// expectPeople lets a person who opens the page in a browser see why it is empty. Broadcast
// software moves no pointer.
function expectPeople() {
  if (window.obsstudio || window.parent !== window) return;
  for (const sign of ["pointermove", "pointerdown", "keydown"]) {
    addEventListener(sign, () => document.documentElement.toggleAttribute("data-watched", true), { once: true });
  }
}

// showPublic shows a public result, which is read once a second.
function showPublic() {
  if (live || questions.length > 0) return help("An address with “public” names a poll.");
  expectPeople();
  render();
  followPublic(publicPath(base, owner, poll), {
    heard: (result) => {
      config = result?.now?.poll ?? null;
      keep(result?.now?.votes ?? null);
      say("");
      render();
    },
    failed: () => say(text("reconnecting")),
  });
  setInterval(tick, 250);
  setInterval(speak, 10000);
}

function showQuestion() {
  expectPeople();
  document.documentElement.toggleAttribute("data-cloud", true);
  id("options").hidden = true;
  id("cloud").hidden = false;
  followAnswers(client, questions, linger, { say, check, entitle: (shown, answered) => {
    entitle(query.get("title") ?? (questions.length > 1 ? shown : ""));
    const present = shown !== null && (answered || !id("title").hidden);
    document.querySelector(".poll").hidden = !present;
    id("hint").hidden = present;
    hint();
  } });
}

// keep takes statistics over, which are shown unless older ones are.
function keep(tally) {
  latest = tally;
  if (moment === null) stats = latest;
}

let played = false;

// replay shows the past of the poll once, and then the present.
async function replay() {
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
    say(e instanceof Refused ? e.message : text("reconnecting"));
  }
}

function help(problem = "") {
  id("problem").textContent = problem;
  document.querySelector(".poll").hidden = true;
  document.querySelector(".help").hidden = false;
}

function say(text) {
  id("state").textContent = text;
  hint();
}

// hint says why nothing is shown.
function hint() {
  const missing = questions.length > 0 ? text(questions.length > 1 ? "noLiveQuestion" : "noAnswersYet") : live ? text("noLive") : text(owner === null ? "noSuchPoll" : "noSuchPublicPoll", { name: poll });
  id("hint").textContent = id("state").textContent || missing;
}

// read reads all there is to know. An event that comes meanwhile is at least as
// new, or is followed by one that is.
async function read() {
  const before = heard, about = poll;
  try {
    const named = `?id=${encodeURIComponent(about)}`;
    const [tally, saved] = await Promise.all([client.request("GET", `/vote${named}`), readConfig(named)]);
    if (about !== poll) return;
    if (before !== heard && stats) return;
    keep(tally);
    config = saved;
    render();
  } catch (e) {
    say(e instanceof Refused ? e.message : text("reconnecting"));
  }
}

// isOverlayKey reports whether the credential is an overlay key, which reads what it shows and
// nothing else.
const isOverlayKey = () => claimsOf(credential).role === "overlay";

// claimsOf returns what a token says, and nothing of what is no token: the server says why.
function claimsOf(text) {
  try {
    return JSON.parse(atob(text.split(".").at(-2).replaceAll("-", "+").replaceAll("_", "/")));
  } catch {
    return {};
  }
}

// placeOf returns the client id and the channel of a credential.
function placeOf(text) { return [text?.split(" ")[0] ?? "", claimsOf(text).channel_id ?? ""]; }

// readConfig returns the configuration, null when none is saved.
async function readConfig(named) {
  try {
    return await client.request("GET", `/poll${named}`);
  } catch (e) {
    if (e instanceof Refused && e.status === 404) return null;
    throw e;
  }
}

// entitle shows the poll's own title, or else that of the address.
function entitle(title = config?.prompt || query.get("title") || "") {
  id("title").textContent = title;
  id("title").hidden = hidden.has("title") || !title;
}

// check finds out whether there is no use in trying to listen: it reads what is shown.
async function check() {
  const shown = live ? "/polls?limit=1" : `/vote?id=${encodeURIComponent(poll)}`;
  try {
    await client.request("GET", questions.length === 0 ? shown : `/rank?id=${encodeURIComponent(questions[0])}&limit=1`);
  } catch (e) {
    if (!(e instanceof Refused)) return;
    if (e.status === 401) say(text("tokenEnded"));
    else if (e.status === 400 || e.status === 403) say(e.message);
  }
}

// options returns the names of the options, by the value that is a vote for each.
function options() {
  const named = labels ?? config?.options ?? [];
  if (named.length > 0) return named.map((label, value) => ({ value, label }));
  return (stats?.specific ?? []).map((votes, value) => ({ value, label: text("option", { n: value }), votes })).filter((o) => o.votes > 0);
}

// summary returns the number of votes, or when there will be figures.
function summary() {
  if (stats.hidden && !config?.showCount) {
    return config?.resultsVisibility === "afterClose" || config?.resultsVisibility === "afterVote" ? text("afterClose") : text("notShown");
  }
  return text("votes", { n: stats.count });
}

// counted returns the options with their votes and their share of them.
function counted() {
  const shown = options().map((o) => ({ ...o, votes: stats.specific[o.value] ?? 0 }));
  const shares = percentages(shown.map((o) => o.votes));
  return shown.map((o, i) => ({ ...o, percent: percent.format(shares[i] / 100) }));
}

function render() {
  const present = stats !== null && (config !== null || stats.count > 0);
  document.querySelector(".poll").hidden = !present;
  id("hint").hidden = present;
  if (!present) return hint();
  entitle();
  const shown = counted(), { how, winners } = outcome(shown, config);
  const sum = shown.reduce((n, o) => n + o.votes, 0);
  arrange(shown);
  shown.forEach((o, i) => {
    const share = sum > 0 ? o.votes / sum : 0;
    const votes = number.format(o.votes);
    bars[i].label.textContent = o.label;
    showPicture(bars[i].picture, pictureAddress(base, ...place, config?.pictures?.[o.value]));
    bars[i].figure.textContent = stats.hidden ? "" : { percent: o.percent, votes }[show] ?? `${o.percent} · ${votes}`;
    bars[i].bar.style.transform = `scaleX(${share})`;
    bars[i].item.dataset.leads = !stats.hidden && winners.includes(o);
  });
  id("total").textContent = summary();
  const names = decided() && !stats.hidden && !hidden.has("winner") ? winners.map((o) => o.label) : [];
  document.documentElement.toggleAttribute("data-decided", names.length > 0);
  id("outcome").textContent = names.length === 0 ? "" : text(how, { names: list.format(names) });
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
    const bar = part("bar"), picture = document.createElement("img");
    picture.className = "picture";
    item.append(picture);
    bars.push({ item, bar, picture, label: part("label"), figure: part("figure") });
    id("options").append(item);
  }
}

// secondsUntil returns how long it is until a time of the server, null when there is none.
function secondsUntil(time) {
  return time ? Math.max(0, Math.ceil(time - (Date.now() + (client?.skew ?? 0)) / 1000)) : null;
}

// decided reports whether no vote can come any more.
const decided = () => config?.status === "expired";

// closed reports whether the poll has ended.
const closed = () => config?.status === "expired" || secondsUntil(config?.endsAt) === 0;

// countdown returns what stands beside the title: the time until the poll begins or ends.
function countdown() {
  const minutes = (left) => `${Math.floor(left / 60)}:${String(left % 60).padStart(2, "0")}`;
  if (moment !== null) return text("replay", { time: new Date(moment * 1000).toLocaleTimeString(language, { timeStyle: "short" }) });
  const begins = secondsUntil(config?.startsAt), ends = secondsUntil(config?.endsAt);
  if (closed()) return text("closed");
  if (config?.disabled) return text("paused");
  if (begins) return text("beginsIn", { time: minutes(begins) });
  return ends === null ? "" : minutes(ends);
}

// tick shows it.
function tick() {
  const shown = countdown(), left = secondsUntil(config?.endsAt);
  id("countdown").hidden = !shown || hidden.has("countdown");
  id("countdown").textContent = shown;
  id("countdown").dataset.soon = left > 0 && left <= 10;
}

// speak tells screen readers now and then how it stands, and only if that is new.
function speak() {
  if (!stats) return;
  const shown = counted(), { how, winners } = outcome(shown, config);
  const sum = shown.reduce((n, o) => n + o.votes, 0);
  let spoken = text(closed() ? "noVotes" : "noVotesYet");
  if (stats.hidden) spoken = summary();
  else if (sum > 0) {
    const verbs = closed() ? { winner: "won", tie: "tied", chosen: "wonTie" } : { winner: "leads", tie: "level" };
    spoken = text(verbs[how], { names: list.format(winners.map((o) => o.label)), share: winners[0].percent, total: text("votes", { n: sum }) });
  }
  if (id("spoken").textContent !== spoken) id("spoken").textContent = spoken;
}

begin();
