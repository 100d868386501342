// A console for the staff of a channel: its polls, its answers, its games and its overlay keys. It
// follows events and asks for nothing on a timer.

import { Client, Refused } from "./client.js";
import { offerAccounts, refusal, returned, showAccounts } from "./account.js";
import { readAnswers } from "./answers.js";
import { attempt, button, clock, count, desk, id, list, named, number, on, reread, say, setOld } from "./desk.js";
import { element, fill, keepFocus, later, save, takeTurns } from "./dom.js";
import { listGames, listKeys } from "./keys.js";
import { listModerators } from "./moderators.js";
import { offerForm } from "./newpoll.js";
import { listPictures, retryPictures, showPictures } from "./pictureform.js";
import { correction, show } from "./pollform.js";
import { drawHistory, drawPicture, writeTable } from "./results.js";
import { show as share } from "./share.js";
import { endOf, findProblem, hasEnded, readStaff, rightsOf } from "./session.js";
import { leaders, outcome, percentages } from "./tally.js";

let polls = new Map(); // by id, as GET /polls has them
let next = null; // cursor of the list
let poll = null; // the chosen one's id
let stats = null;
let past; // the points of the chosen poll's history, when they end, and when they were read
let stop = null; // listening
let heard = 0; // events about polls
let signedInto = ""; // environment and channel
let live = false; // events come
let since = null; // when what is shown was last known to be live; null: the connection was not lost
let ending = []; // timers of the token's end
const visibleBefore = new Map(); // the visibility of polls before this page hid their results
let own = 0; // changes of this page under way
let shownConfig = null; // of the chosen poll, as it was read last

async function signIn(form) {
  const credential = form.get("credential").trim(), problem = findProblem(credential);
  if (problem) return say(problem);
  await enter(form.get("env"), credential);
}

// enter shows the work of a channel. Without a credential, the cookie of a session stands for it.
async function enter(environment, credential) {
  const entered = new Client(environment === "sandbox" ? "/sandbox/v1" : "/v1", credential);
  const session = await readStaff(entered).catch((e) => { // only staff may
    throw e instanceof Refused && hasEnded(credential) ? new Refused(e.status, "This token has ended. Ask for a new one.") : e;
  });
  const place = `${environment} ${session.channel}`;
  if (place !== signedInto) forget();
  signedInto = place;
  [desk.client, desk.signedIn, desk.environment, desk.staff, desk.rights] = [entered, true, environment, session, rightsOf(session)];
  id("signin").hidden = true;
  showAccounts();
  id("signin").reset();
  id("work").hidden = id("work").inert = false;
  for (const section of document.querySelectorAll("[data-for]")) section.hidden = !desk.rights.includes(section.dataset.for);
  document.querySelector("#work section:not([hidden]) h2").focus();
  awaitEnd(endOf(credential));
  follow();
  await Promise.all([listPolls(), listUnannounced()]);
}

// resume goes on with the session of a person who comes back from the issuer, or who has one.
async function resume() {
  const asked = returned(), refused = refusal();
  if (refused) say(refused);
  if (!await offerAccounts() && !asked || desk.signedIn) return;
  await enter("production", "").catch((e) => { if (asked) throw e; });
}

// forget drops what was chosen in another channel or environment.
function forget() {
  [poll, stats, past, shownConfig, desk.question, polls] = [null, null, undefined, null, null, new Map()];
  id("poll").hidden = id("answers").hidden = true;
  id("poll-title").textContent = "Choose a poll";
}

// awaitEnd warns before the token ends, by the clock of this device. The server ends it.
function awaitEnd(end) {
  ending.forEach(clearTimeout);
  const longest = 2 ** 31 - 1, left = end === null ? longest : end - Date.now();
  if (left >= longest) return;
  ending = [
    setTimeout(() => say(`Your token ends at ${clock(end)}. Sign in again with a new one before that.`), Math.max(0, left - 5 * 60 * 1000)),
    setTimeout(recheck, Math.max(0, left)),
  ];
}

// signOut brings the form back. What the page shows stays to be read, and is marked as old.
function signOut(reason) {
  stop?.();
  [stop, desk.signedIn] = [null, false];
  ending.forEach(clearTimeout);
  mark(`Signed out. ${reason.replace(/\.?$/, ".")}`);
  id("work").inert = true;
  id("signin").hidden = false;
  showAccounts();
  id("signin").elements.env.value = desk.environment;
  id("signin").elements.credential.focus();
}

// mark says that what is shown is old, and since when; without a reason, that it is live.
function mark(reason) {
  since = reason ? since ?? Date.now() : null;
  live = since === null;
  setOld(!live);
  id("connection").textContent = since === null ? "" : `${reason} What you see is from ${clock(since)}.`;
}

// lost finds out why no events come, and reports whether the server takes requests.
async function lost() {
  mark("The connection is lost. Reconnecting…");
  try {
    await readStaff(desk.client);
    return true;
  } catch (e) {
    if (e instanceof Refused && e.status >= 400 && e.status < 500 && e.status !== 429 && desk.signedIn) signOut(e.message);
    return false;
  }
}

// recheck follows anew where a stream may have ended without a word.
async function recheck() {
  if (desk.signedIn && await lost() && desk.signedIn) follow();
}

// follow receives the events about what is shown. Each time a stream has begun, it reads what
// may have changed before. It ends the stream before it only then: the list of polls has
// missed nothing, when what else is shown changes, unless the connection was lost.
function follow() {
  const topics = desk.rights.includes("polls") ? ["poll_update:*", "vote_delete:*"] : [];
  if (poll !== null) topics.push(`vote_update:${poll}`);
  if (desk.question !== null) topics.push(`rank_update:${desk.question}`);
  const stopBefore = stop;
  let covered = live;
  const stopThis = desk.client.listen(topics, {
    opened: () => {
      const wasLost = since !== null, missed = wasLost || !covered;
      mark("");
      stopBefore?.();
      covered = false;
      reread(async () => {
        if (missed) await listPolls();
        await readPoll();
        if (missed) await readHistory();
        await readAnswers();
      });
      if (wasLost) reread(listUnannounced);
    },
    closed: lost,
    heard: (name, data) => {
      if (name.startsWith("poll_update:")) updatePoll(data);
      else if (name.startsWith("vote_delete:")) removePoll(data.id);
      else if (name.startsWith("rank_update:")) reread(readAnswers);
      else if (data.id === poll) { stats = data.stats; showPoll(); extendHistory(); }
    },
  });
  stop = () => { stopBefore?.(); stopThis(); };
}

// listUnannounced lists what no event tells of.
const listUnannounced = takeTurns(() => {
  retryPictures();
  return Promise.all([listPictures(), ...(desk.rights.includes("channel") ? [listKeys(), listGames(), listModerators()] : [])]);
});

// Polls.

// listPage shows the polls, or adds those after a cursor.
async function listPage(cursor) {
  const before = heard, status = id("status").value, query = new URLSearchParams({ limit: 50 });
  if (status) query.set("status", status);
  if (cursor) query.set("cursor", cursor);
  const answer = await desk.client.request("GET", `/polls?${query}`);
  if (status !== id("status").value) return; // another list follows
  if (!cursor && before !== heard) return listPage(); // the answer may be older than what was heard
  if (!cursor) polls = new Map();
  for (const found of answer.polls) polls.has(found.id) || polls.set(found.id, found);
  next = answer.next ?? null;
  showPolls();
}

const listPolls = takeTurns(async () => { if (desk.rights.includes("polls")) await listPage(); });

function updatePoll(changed) {
  heard++;
  const wanted = id("status").value;
  if (wanted && changed.status !== wanted) polls.delete(changed.id);
  else polls.set(changed.id, changed);
  showPolls();
  if (changed.id === poll) reread(readPoll);
}

function removePoll(gone) {
  heard++;
  polls.delete(gone);
  showPolls();
  if (gone === poll) reread(readPoll);
}

// newestFirst returns the polls, the active ones before the others.
function newestFirst() {
  const order = ["active", "pending", "expired"];
  return [...polls.values()].sort((a, b) => order.indexOf(a.status) - order.indexOf(b.status) || b.version - a.version);
}

function showPolls() {
  keepFocus(id("polls"), newestFirst().map((p) => {
    const open = button(p.prompt || p.id, `poll ${p.id}`, () => choosePoll(p.id));
    open.dataset.key = p.id;
    open.setAttribute("aria-pressed", p.id === poll);
    return element("li", "", {}, open, element("span", [p.disabled ? "paused" : p.status, p.hidden ? "results hidden" : ""].filter(Boolean).join(", ")));
  }), id("status").value ? "There are no such polls." : "There are no polls yet.");
  id("more").hidden = next === null;
}

async function choosePoll(chosen, focused = id("poll-title")) {
  [poll, stats, past] = [chosen, null, undefined];
  id("changed").textContent = id("done").textContent = "";
  follow();
  await readPoll();
  await readHistory();
  focused.focus();
}

const readPoll = takeTurns(async () => {
  if (poll === null) return;
  const wanted = poll, before = stats;
  try {
    const [config, tally] = await Promise.all([desk.client.request("GET", `/poll${named(wanted)}`), desk.client.request("GET", `/vote${named(wanted)}`)]);
    if (wanted !== poll) return;
    if (shownConfig?.id === wanted && own === 0) tellChanges(shownConfig, config);
    const another = shownConfig?.id !== wanted;
    shownConfig = config;
    polls.set(wanted, config);
    if (stats === before) stats = tally; // else votes came meanwhile
    fill(id("visibility"), { visibility: config.resultsVisibility, showCount: config.showCount }, another);
    show(id("edit"), config, another);
    showPolls();
    showPoll();
  } catch (e) {
    if (!(e instanceof Refused) || e.status !== 404) throw e;
    [poll, stats, shownConfig] = [null, null, null];
    id("poll").hidden = true;
    id("poll-title").textContent = "Choose a poll";
  }
});

// tellChanges says what somebody else has changed.
function tellChanges(before, now) {
  const names = { prompt: "question", options: "options", endsAt: "end", disabled: "pause", resultsVisibility: "visibility", tieBreak: "decision of the tie" };
  const different = Object.keys(names).filter((name) => JSON.stringify(before[name]) !== JSON.stringify(now[name]));
  if (different.length > 0) id("changed").textContent = `Changed elsewhere at ${clock(Date.now())}: ${list.format(different.map((name) => names[name]))}.`;
}

// options returns the names of the options that have a name or votes.
function options() {
  const names = polls.get(poll)?.options ?? [];
  return stats.specific.map((votes, value) => ({ value, votes, label: names[value] ?? `Option ${value}` })).filter((o) => o.value < names.length || o.votes > 0);
}

function showPoll() {
  const shown = polls.get(poll);
  if (!shown || !stats) return;
  id("poll").hidden = false;
  share(shown);
  id("poll-title").textContent = shown.prompt || shown.id;
  id("poll-state").textContent = `${shown.disabled ? "paused" : shown.status}, ${count(stats.count, "vote")}${shown.status === "active" && shown.endsAt > 0 ? `, ends at ${new Date(shown.endsAt * 1000).toLocaleString("en", { dateStyle: "medium", timeStyle: "short" })}` : ""}${shown.hidden ? ", results hidden from viewers" : ""}${shown.questionChanged ? `, question changed at ${clock(shown.questionChanged)}` : ""}`;
  const expired = shown.status === "expired", found = options(), { winners } = outcome(found, shown), shares = percentages(found.map((o) => o.votes));
  id("end").disabled = expired;
  id("reopen").hidden = !expired;
  id("minute").hidden = expired || !(shown.endsAt > 0);
  id("reveal").textContent = shown.hidden ? "Reveal the results" : "Hide the results";
  showOutcome(shown, expired ? found : []);
  showPictures(shown, (pictures) => configure({ pictures }));
  id("figures").replaceChildren(...found.map((o, n) => element("tr", "", winners.includes(o) ? { class: "leads" } : {},
    element("th", o.label, { scope: "row", dir: "auto" }), element("td", number.format(o.votes)), element("td", `${shares[n]} %`))));
}

// showOutcome says who has won a poll that has ended. In a tie, staff chooses the winner once viewers see the results.
function showOutcome(shown, found) {
  const first = leaders(found, shown), { how, winners } = outcome(found, shown);
  const names = (those) => list.format(those.map((o) => o.label));
  const texts = { winner: `Winner: ${names(winners)}`, tie: `Tie: ${names(first)}`, chosen: `Tie: ${names(first)}. ${names(winners)} wins by decision of the staff.` };
  id("outcome").textContent = first.length === 0 ? "" : texts[how];
  id("tie").hidden = how === "winner";
  id("covered").hidden = !shown.hidden;
  id("undecide").hidden = how !== "chosen";
  id("tied").hidden = shown.hidden;
  keepFocus(id("tied"), first.map((o) => {
    const choose = button("Choose", o.label, () => configure({ tieBreak: o.value }));
    choose.dataset.key = o.value;
    choose.setAttribute("aria-pressed", how === "chosen" && winners.includes(o));
    return element("li", "", {}, element("bdi", o.label), choose);
  }), "");
}

// speak tells screen readers of the votes, now and then.
function speak() {
  const text = stats && poll !== null ? `${id("poll-title").textContent}: ${id("poll-state").textContent}` : "";
  if (id("spoken").textContent !== text) id("spoken").textContent = text;
}

// configure changes members of the chosen poll's configuration; what others change meanwhile stays.
// The votes stay, also where the question is corrected.
async function configure(changes) {
  own++;
  try {
    await desk.client.request("PATCH", "/vote_config", { id: poll, config: changes, keepVotes: true });
    await readPoll();
    id("done").textContent = `Saved at ${clock(Date.now())}.`;
  } finally {
    own--;
  }
}

// remove deletes the chosen poll, or its votes alone, after a wait. It does so for the sign-in that
// asked for it, and not for a later one.
async function remove(what, keepConfig) {
  const wanted = poll, client = desk.client;
  id("clear").disabled = id("delete").disabled = true; // one at a time can be taken back
  try {
    await later(id("pending"), `${what} “${id("poll-title").textContent}”`, async () => {
      if (client !== desk.client || !desk.signedIn) return;
      if (keepConfig) await client.request("PATCH", "/vote_config", { id: wanted, config: {}, clearVotes: true });
      else await client.request("DELETE", `/vote${named(wanted)}`);
      if (poll === wanted) await readPoll();
    });
  } finally {
    id("clear").disabled = id("delete").disabled = false;
  }
}

async function readHistory() {
  if (poll === null || stats === null) return;
  const wanted = poll, before = stats, answer = await desk.client.request("GET", `/vote_history${named(wanted)}`);
  if (wanted !== poll) return;
  const end = answer.points.at(-1)?.at ?? Math.floor(Date.now() / 1000);
  past = { points: answer.points, end, read: performance.now() };
  if (stats === before) drawHistory(past.points, options()); else extendHistory(); // votes came meanwhile
}

const most = 1000; // points

// extendHistory adds the statistics of now to the history.
function extendHistory() {
  if (!past) return;
  if (past.points.length >= most) past.points = past.points.filter((_, n) => n % 2 === 0);
  const at = past.end + (performance.now() - past.read) / 1000;
  past.points.push({ at, specific: stats.specific });
  drawHistory(past.points, options());
}

Object.assign(desk, { follow, signOut, recheck });
offerForm({ list: newestFirst, choose: choosePoll });
on("signin", "submit", signIn);
on("status", "change", listPolls);
on("more", "click", () => listPage(next));
on("visibility", "submit", (form) => configure({ resultsVisibility: form.get("visibility"), showCount: form.has("showCount") }));
on("edit", "submit", () => {
  const changes = correction(id("edit"));
  return changes ? configure(changes) : say("Nothing is changed.");
});
on("end", "click", () => configure({ endsAt: -1 }));
on("minute", "click", () => configure({ endsAt: polls.get(poll).endsAt + 60 }));
on("undecide", "click", async () => {
  await configure({ tieBreak: null });
  id("poll-title").focus(); // the button is gone
});
on("reopen", "click", () => configure({ endsAt: 0 }));
on("reveal", "click", () => {
  const { hidden, resultsVisibility } = polls.get(poll);
  if (!hidden) visibleBefore.set(poll, resultsVisibility);
  return configure({ resultsVisibility: !hidden ? "staff" : visibleBefore.get(poll) === "afterVote" ? "afterVote" : "always" });
});
on("clear", "click", () => remove("Clearing the votes of", true));
on("delete", "click", () => remove("Deleting", false));
on("table", "click", () => save(`${poll}.csv`, writeTable(options())));
on("picture", "click", async () => save(`${poll}.png`, await drawPicture(id("poll-title").textContent, id("poll-state").textContent, options())));
on("signout", "click", async () => {
  if (!desk.client.credential) await desk.client.request("DELETE", "/staff"); // which ends the session
  signOut("You left.");
});
for (const change of ["offline", "online"]) addEventListener(change, recheck);
setInterval(speak, 10000);
on("history", "click", readHistory);

// An address may bring the credential along, which then does not stay in it.
const brought = new URLSearchParams(location.hash.slice(1)).get("access_token");
if (brought) {
  const form = id("signin").elements;
  form.env.value = new URLSearchParams(location.search).get("env") ?? "production";
  form.credential.value = brought;
  history.replaceState(null, "", location.pathname + location.search);
  attempt(() => signIn(new FormData(id("signin"))), id("signin").querySelector("button")); // which is dim meanwhile
  offerAccounts();
} else attempt(resume);
