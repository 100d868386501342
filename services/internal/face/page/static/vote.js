// A page on which a viewer of an issuer votes in one poll after a sign-in, or a device without one.
//
// The issuer's token is in a cookie that scripts cannot read. A device's credential stays in the memory of the page. A cookie that scripts cannot read makes the
// browser the same device after a reload.

import { Client, Refused } from "./client.js";
import { takeTurns } from "./dom.js";
import { pictureAddress, showPicture } from "./pictures.js";
import { outcome, percentages } from "./tally.js";
import { list, number, percent, text, translate } from "./texts.js";
import { drawSecret, hideCheck, keepIndex, keepSecret, showCheck } from "./votecheck.js";

const often = 10_000, seldom = 60_000, soon = 4_000; // milliseconds between two looks: while all is well, at most, and until a receipt
const id = (name) => document.getElementById(name);

const environment = new URLSearchParams(location.search).get("env") === "sandbox" ? "/sandbox" : "";
const receipts = () => `${location.pathname}#receipts`; // under which it keeps what checks a viewer's votes need
const place = () => environment + location.pathname + (account === "in" ? "#viewer" : ""); // under which the browser keeps votes
let name = null; // of the poll
let client = null; // once the device has a credential, or the viewer has signed in
let account = "none"; // there is no sign-in, or the person is "out", "in", or "ended" without a sign-out
let shown = null; // the poll
let ballot = ""; // the options that the form has
let cast = []; // the device's votes, as far as this browser knows
let changed = false; // a vote replaced another one
let failed = null; // a vote without an answer, and how many equal ones there were before
const keys = new Map(); // of the votes that may be repeated, by value
let wait = often;
let timer;

function tell(text) { if (id("state").textContent !== text) id("state").textContent = text; }

// problem returns what a failure means to the person who votes.
function problem(e) {
  if (!(e instanceof Refused)) return text(navigator.onLine ? "noServer" : "offline");
  if (e.message === "poll is closed") return text("notOpen");
  if (e.status === 412) return text("questionChanged");
  if (e.message === "unacceptable vote") return text("noVoteLeft");
  if (account === "ended") return text("signInEnded");
  if (e.status === 404) return text(account === "out" ? "signInToVote" : "noPoll");
  if (e.status === 429) return text("busy");
  if (e.status >= 500) return text("failing");
  return e.message;
}

// ask sends a request of the viewer, or of the device, with a new credential where it has none or that has
// ended.
async function ask(method, body, key) {
  if (account === "in") return askAsViewer(method, body, key);
  const query = `/vote?id=${encodeURIComponent(name.poll)}`;
  for (let again = client !== null; ; again = false) {
    client ??= await signIn();
    try {
      return await client.request(method, query, body, key && { "Idempotency-Key": key });
    } catch (e) {
      if (!(e instanceof Refused) || e.status !== 401 || !again) throw e;
      client = null;
    }
  }
}

async function askAsViewer(method, body, key) {
  const query = `?id=${encodeURIComponent(name.poll)}`;
  try {
    const [answer, poll] = await Promise.all([
      client.request(method, `/vote${query}`, body, key && { "Idempotency-Key": key }),
      method === "GET" ? client.request("GET", `/poll${query}`) : null,
    ]);
    return { ...answer, poll };
  } catch (e) {
    if (e instanceof Refused && e.status === 401) setAccount("ended");
    throw e;
  }
}

// setAccount shows what a person can do with an account. What was true of another one goes.
function setAccount(now) {
  account = now;
  [client, cast, changed, failed] = [account === "in" ? viewer() : null, [], false, null];
  id("sign-in").hidden = account === "none" || account === "in";
  id("sign-out").hidden = account !== "in";
  id("weak").hidden = true; // until a device votes
  hideCheck();
  hide();
}

// viewer returns a client whose header the server completes with the token in the cookie.
const viewer = () => new Client("/v1", `OIDC ${name.client}/${name.channel}/`);

// findAccount offers a sign-in where the channel has one, and finds out whether the person has signed in.
async function findAccount() {
  const query = new URLSearchParams({ extension: name.client, channel: name.channel });
  const outcome = location.hash;
  history.replaceState(null, "", location.pathname + location.search);
  const { signIns } = environment ? { signIns: [] } : await new Client("/v1").request("GET", `/viewer/signins?${query}`).catch(() => ({ signIns: [] }));
  if (signIns.length === 0) return;
  id("sign-in").textContent = text("signInWith", { name: signIns[0].name });
  id("sign-in").addEventListener("click", () => location.assign(`/v1/viewer/signin?${new URLSearchParams({ extension: name.client, channel: name.channel, poll: name.poll })}`));
  id("sign-out").addEventListener("click", signOut);
  if (outcome.startsWith("#sign-in-refused-")) id("message").textContent = text("signInFailed");
  const known = await viewer().request("GET", `/vote?id=${encodeURIComponent(name.poll)}`).then(() => true, (e) => !(e instanceof Refused) || e.status !== 401);
  setAccount(known ? "in" : "out");
  if (outcome === "#signed-in") forget();
}

// forget drops the votes of the person who was signed in before.
function forget() {
  try {
    for (const item of [`${location.pathname}#viewer`, receipts()]) localStorage.removeItem(item);
  } catch { /* the browser keeps nothing for pages */ }
}

async function signOut() {
  try {
    await new Client("/v1").request("DELETE", "/viewer");
  } catch (e) {
    return void (id("message").textContent = problem(e));
  }
  forget();
  setAccount("out");
  id("title").focus();
  await look();
}

async function signIn() {
  const base = `${environment}/v1`;
  const { credential } = await new Client(base).request("POST", "/devices", name);
  id("weak").hidden = false;
  return new Client(base, credential);
}

// look shows the poll as it is now, and looks again later.
const look = takeTurns(async () => {
  let awaited = false; // a receipt
  clearTimeout(timer);
  if (account === "ended") return tell(text("signInEnded"));
  try {
    const answer = await ask("GET");
    wait = often;
    show(answer.poll, answer);
    if (account === "in" && answer.poll.verifiable) awaited = await showCheck(receipts(), name.poll, readReceipt);
    if (account !== "in") hideCheck(); // the person has signed out meanwhile
  } catch (e) {
    wait = Math.min(2 * wait, seldom);
    tell(problem(e));
    if (e instanceof Refused && e.status === 404) hide();
    else if (e instanceof Refused && e.status === 400) await showPublic();
  }
  if (!document.hidden && account !== "ended") timer = setTimeout(look, (awaited ? soon : wait) * (0.8 + 0.4 * Math.random()));
});

// readReceipt returns the receipt of the viewer's latest vote that is signed, "" for none.
async function readReceipt() {
  try {
    return await client.request("GET", `/receipt?id=${encodeURIComponent(name.poll)}`);
  } catch (e) {
    if (e instanceof Refused) return ""; // what is wrong with the sign-in, a look says
    throw e;
  }
}

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
  shown = poll;
  cast = recall(votes.vote);
  if (failed && times(failed.value) > failed.before) { // it has come after all
    failed = null;
    id("message").textContent = "";
  }
  document.title = id("title").textContent = poll.prompt || name.poll;
  const open = poll.status === "active" && !poll.disabled && client !== null;
  tell(open ? invite() : `${ending()} ${choice()}`.trim());
  if (open && left() > 0) showBallot();
  else hide();
  showResults(poll, votes);
}

// several reports whether a device has several votes, which then stay as they are.
const several = () => shown.totalVotesPerUser > 1;

// The server tells one vote of a device. Of several ones this browser keeps the values, which
// are no secret from the person who votes.
function recall(vote) {
  if (vote === undefined) return [];
  if (!several()) return [vote];
  try {
    const kept = JSON.parse(localStorage.getItem(place())) ?? [];
    return kept.includes(vote) ? kept : [...kept, vote];
  } catch {
    return cast.length > 0 ? cast : [vote]; // the browser keeps nothing for pages
  }
}

function keep(value) {
  cast = several() ? [...cast, value] : [value];
  try {
    if (several()) localStorage.setItem(place(), JSON.stringify(cast));
  } catch { /* the browser keeps nothing for pages */ }
}

const times = (value) => cast.filter((v) => v === value).length;

// left returns how many more votes the device has.
function left() {
  if (!several()) return 1;
  const { options, totalVotesPerUser, distinctOptionsPerUser, votesPerOption } = shown;
  return Math.min(totalVotesPerUser, Math.min(distinctOptionsPerUser, options.length) * votesPerOption) - cast.length;
}

function ending() { return text(shown.disabled ? "isPaused" : shown.status === "pending" ? "notBegun" : "hasEnded"); }

function choice() {
  const names = [...new Set(cast)].map((value) => shown.options[value] ?? number.format(value));
  return names.length === 0 ? "" : text("votedFor", { names: list.format(names) });
}

// invite says what a person can do in a poll that is open.
function invite() {
  if (shown.options.length === 0) return text("noOptions");
  if (cast.length === 0) return several() ? text("chooseSeveral", { n: left() }) : text("chooseOne");
  if (several()) return [text("counted"), choice(), left() > 0 ? text("choicesLeft", { n: left() }) : ""].join(" ").trim();
  return [text(changed ? "changed" : "counted"), choice(), text("canChange")].join(" ");
}

// showBallot keeps what a person has chosen, unless the options are others.
function showBallot() {
  id("ballot").hidden = shown.options.length === 0;
  const now = JSON.stringify([shown.options, shown.pictures, several()]);
  if (now !== ballot) {
    ballot = now;
    id("options").replaceChildren(id("options").firstElementChild, ...shown.options.map((option, value) => {
      const label = document.createElement("label"), input = document.createElement("input"), named = document.createElement("bdi"), picture = document.createElement("img");
      showPicture(picture, pictureAddress(`${environment}/v1`, name.client, name.channel, shown.pictures?.[value]));
      Object.assign(input, { type: several() ? "checkbox" : "radio", name: "value", value, required: !several(), checked: cast.includes(value) });
      named.textContent = option;
      label.append(input, picture, named);
      return label;
    }));
  }
  if (several()) limit();
}

// chosen returns the values that a person has chosen and not voted for yet.
const chosen = () => [...id("ballot").querySelectorAll(":checked")].map((e) => Number(e.value)).filter((value) => !several() || times(value) < shown.votesPerOption);

// limit lets a person choose no more options than there are votes for.
function limit() {
  const now = chosen(), distinct = new Set([...cast, ...now]).size;
  for (const input of id("ballot").querySelectorAll("input")) {
    const value = Number(input.value), full = times(value) >= shown.votesPerOption;
    if (full) input.checked = true;
    const beyond = now.length >= left() || (times(value) === 0 && distinct >= shown.distinctOptionsPerUser);
    input.disabled = full || (!input.checked && beyond);
  }
}

function showResults(poll, votes) {
  id("results").hidden = Boolean(votes.hidden) || poll.options.length === 0;
  if (id("results").hidden) return;
  const found = poll.options.map((label, value) => ({ value, label, votes: votes.specific[value] })), shares = percentages(found.map((o) => o.votes));
  const { how, winners } = poll.status === "expired" ? outcome(found, poll) : { winners: [] };
  id("outcome").textContent = winners.length === 0 ? "" : text(how, { names: list.format(winners.map((o) => o.label)) });
  id("figures").replaceChildren(...found.map((o, n) => {
    const item = document.createElement("li"), label = document.createElement("bdi"), share = document.createElement("span"), bar = document.createElement("meter");
    label.textContent = winners.includes(o) ? `${o.label} ★` : o.label;
    share.textContent = percent.format(shares[n] / 100);
    Object.assign(bar, { max: 100, value: shares[n] });
    bar.setAttribute("aria-hidden", "true");
    item.append(label, share, bar);
    return item;
  }));
  id("total").textContent = text("votes", { n: votes.count });
}

async function vote(event) {
  event.preventDefault();
  const button = event.submitter, values = chosen();
  if (button.ariaDisabled === "true") return;
  if (values.length === 0) return void (id("message").textContent = text("chooseSeveral", { n: left() }));
  button.ariaDisabled = "true";
  id("message").textContent = "";
  failed = null;
  let counted = 0;
  try {
    for (; counted < values.length; counted++) await castVote(values[counted]);
  } catch (e) {
    id("message").textContent = text(counted > 0 ? "someCounted" : "notCounted", { reason: problem(e) });
    failed = { value: values[counted], before: times(values[counted]) };
  } finally {
    button.ariaDisabled = null;
  }
  await look();
}

// castVote casts one vote. Where a vote adds to others, a key keeps it from counting twice when a
// person tries again without knowing what became of it.
async function castVote(value) {
  const again = keys.get(value), secret = again?.secret ?? (account === "in" && shown.verifiable ? await drawSecret(name) : null);
  const sent = again ?? { key: several() ? [...crypto.getRandomValues(new Uint32Array(4))].join("-") : undefined, secret, version: shown.version };
  if (several()) keys.set(value, sent);
  if (secret && !again) keepSecret(receipts(), secret);
  try {
    const { listed } = await ask("POST", { value, ...(secret && { version: sent.version, nonceHash: secret.nonceHash }) }, sent.key);
    if (secret && listed) keepIndex(receipts(), secret, listed.index);
  } catch (e) {
    if (e instanceof Refused && [400, 412].includes(e.status)) keys.delete(value);
    throw e;
  }
  keys.delete(value);
  changed = cast.length > 0 && !cast.includes(value);
  keep(value);
  const voted = id("ballot").querySelector(`[value="${value}"]`);
  if (several() && times(value) < shown.votesPerOption) voted.checked = false;
}

function start() {
  translate();
  document.title = text("vote");
  try {
    const [client, channel, poll] = /^\/vote\/([^/]+)\/([^/]+)\/([^/]+)$/.exec(location.pathname).slice(1).map(decodeURIComponent);
    name = { client, channel, poll };
  } catch {
    return tell(text("noPollInLink"));
  }
  id("ballot").addEventListener("submit", vote);
  id("ballot").addEventListener("change", () => { if (several()) limit(); });
  for (const change of ["online", "offline"]) addEventListener(change, look);
  document.addEventListener("visibilitychange", () => { if (!document.hidden) look(); });
  findAccount().then(look);
}

start();
