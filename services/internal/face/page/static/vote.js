// A page on which a device votes in one poll, without a credential of a viewer.
//
// The credential stays in the memory of the page. A cookie that scripts cannot read makes the
// browser the same device after a reload.

import { Client, Refused } from "./client.js";
import { takeTurns } from "./dom.js";
import { leaders, percentages } from "./tally.js";

const often = 10_000, seldom = 60_000; // milliseconds between two looks, while all is well and at most
const id = (name) => document.getElementById(name);
const number = new Intl.NumberFormat("en"), plural = new Intl.PluralRules("en");

const environment = new URLSearchParams(location.search).get("env") === "sandbox" ? "/sandbox" : "";
let name = null; // of the poll
let client = null; // once the device has a credential
let ballot = ""; // the options that the form has
let cast; // the device's latest vote
let changed = false; // that was another one before
let wait = often;
let timer;

function tell(text) { if (id("state").textContent !== text) id("state").textContent = text; }

// problem returns what a failure means to the person who votes.
function problem(e) {
  if (!(e instanceof Refused)) return navigator.onLine ? "The server cannot be reached. Trying again…" : "You are offline. The page goes on when you are back.";
  if (e.message === "poll is closed") return "This poll is not open for votes.";
  if (e.message === "unacceptable vote") return "You have no more votes for this.";
  if (e.status === 404) return "There is no such poll, or it takes no votes by a link.";
  if (e.status === 429) return "Too many people ask at once. Trying again…";
  if (e.status >= 500) return "The server cannot answer now. Trying again…";
  return e.message;
}

// ask sends a request of the device, with a new credential where it has none or that has ended.
async function ask(method, body) {
  const query = `/vote?id=${encodeURIComponent(name.poll)}`;
  for (let again = client !== null; ; again = false) {
    client ??= await signIn();
    try {
      return await client.request(method, query, body);
    } catch (e) {
      if (!(e instanceof Refused) || e.status !== 401 || !again) throw e;
      client = null;
    }
  }
}

async function signIn() {
  const base = `${environment}/v1`;
  const { credential } = await new Client(base).request("POST", "/devices", name);
  return new Client(base, credential);
}

// look shows the poll as it is now, and looks again later.
const look = takeTurns(async () => {
  clearTimeout(timer);
  try {
    const answer = await ask("GET");
    wait = often;
    show(answer.poll, answer);
  } catch (e) {
    wait = Math.min(2 * wait, seldom);
    tell(problem(e));
    if (e instanceof Refused && e.status === 404) hide();
    else if (e instanceof Refused && e.status === 400) await showPublic();
  }
  if (!document.hidden) timer = setTimeout(look, wait * (0.8 + 0.4 * Math.random()));
});

// hide takes away what is no longer true, and keeps the focus on the page.
function hide() {
  if (id("ballot").contains(document.activeElement)) id("title").focus();
  id("ballot").hidden = id("results").hidden = true;
}

// showPublic shows the result of a poll that is over, where it is for everyone.
async function showPublic() {
  const { channel, poll } = name, path = [name.client, channel, poll].map(encodeURIComponent).join("/");
  try {
    const { now } = await new Client(environment).request("GET", `/public/${path}/result.json`);
    if (now) show(now.poll, now.votes);
  } catch { /* it is not for everyone, and what the page says stays */ }
}

function show(poll, votes) {
  cast = votes.vote;
  document.title = id("title").textContent = poll.prompt || name.poll;
  const open = poll.status === "active" && !poll.disabled && client !== null;
  tell(open ? invite(poll, votes.vote) : `${ending(poll)} ${choice(poll, votes.vote)}`.trim());
  if (!open) hide();
  else showBallot(poll, votes.vote);
  showResults(poll, votes);
}

function ending(poll) {
  if (poll.disabled) return "This poll is paused.";
  return poll.status === "pending" ? "This poll has not begun." : "This poll has ended.";
}

function choice(poll, vote) { return vote === undefined ? "" : `You voted for ${poll.options[vote] ?? number.format(vote)}.`; }

// invite says what a person can do in a poll that is open.
function invite(poll, vote) {
  if (poll.options.length === 0) return "This poll has no options to choose from.";
  if (poll.totalVotesPerUser > 1) return `${choice(poll, vote)} You have ${number.format(poll.totalVotesPerUser)} votes in all, one at a time.`.trim();
  if (vote === undefined) return "Choose one and vote.";
  return `Your vote ${changed ? "is changed" : "is counted"}. ${choice(poll, vote)} You can change it while the poll is open.`;
}

// showBallot keeps what a person has chosen, unless the options are others.
function showBallot(poll, vote) {
  id("ballot").hidden = poll.options.length === 0;
  const options = JSON.stringify(poll.options);
  if (options === ballot) return;
  ballot = options;
  id("options").replaceChildren(id("options").firstElementChild, ...poll.options.map((text, value) => {
    const label = document.createElement("label"), input = document.createElement("input"), shown = document.createElement("bdi");
    Object.assign(input, { type: "radio", name: "value", value, required: true, checked: value === vote });
    shown.textContent = text;
    label.append(input, shown);
    return label;
  }));
}

function showResults(poll, votes) {
  id("results").hidden = Boolean(votes.hidden) || poll.options.length === 0;
  if (id("results").hidden) return;
  const found = poll.options.map((label, value) => ({ label, votes: votes.specific[value] }));
  const first = poll.status === "expired" ? leaders(found) : [], shares = percentages(found.map((o) => o.votes));
  id("figures").replaceChildren(...found.map((o, n) => {
    const item = document.createElement("li"), label = document.createElement("bdi"), share = document.createElement("span"), bar = document.createElement("meter");
    label.textContent = first.includes(o) ? `${o.label} ★` : o.label;
    share.textContent = `${shares[n]} %`;
    Object.assign(bar, { max: 100, value: shares[n] });
    bar.setAttribute("aria-hidden", "true");
    item.append(label, share, bar);
    return item;
  }));
  id("total").textContent = `${number.format(votes.count)} ${plural.select(votes.count) === "one" ? "vote" : "votes"}`;
}

async function vote(event) {
  event.preventDefault();
  const button = event.submitter, value = Number(new FormData(id("ballot")).get("value"));
  if (button.ariaDisabled === "true") return;
  button.ariaDisabled = "true";
  id("message").textContent = "";
  try {
    await ask("POST", { value });
    changed = cast !== undefined && cast !== value;
  } catch (e) {
    id("message").textContent = `Your vote is not counted. ${problem(e)}`;
  } finally {
    button.ariaDisabled = null;
  }
  await look();
}

function start() {
  try {
    const [client, channel, poll] = /^\/vote\/([^/]+)\/([^/]+)\/([^/]+)$/.exec(location.pathname).slice(1).map(decodeURIComponent);
    name = { client, channel, poll };
  } catch {
    return tell("This link names no poll.");
  }
  id("ballot").addEventListener("submit", vote);
  for (const change of ["online", "offline"]) addEventListener(change, look);
  document.addEventListener("visibilitychange", () => { if (!document.hidden) look(); });
  look();
}

start();
