// A console for the staff of a channel: its polls, its answers, its games and its overlay keys. It
// follows events and asks for nothing on a timer.

import { Client, Refused } from "./client.js";

const id = (name) => document.getElementById(name);
const number = new Intl.NumberFormat("en");
const named = (name) => `?id=${encodeURIComponent(name)}`;
const states = ["held", "visible", "hidden"];

let client, environment;
let polls = new Map(); // by id, as GET /polls has them
let next = null; // cursor of the list
let poll = null; // the chosen one's id
let stats = null;
let past; // the points of the chosen poll's history, when they end, and when they were read
let question = null; // the opened one's id
let configured = {}; // its configuration, as this page has read or saved it
let merging = null; // the group to be merged into another
let stop = null; // listening
let heard = 0; // events about polls

function say(text) { id("message").textContent = text; }

// attempt does something and says why it failed.
async function attempt(action) {
  try {
    say("");
    await action();
  } catch (e) {
    say(e instanceof Refused ? e.message : "The server cannot be reached.");
  }
}

// takeTurns returns the action such that one of its runs begins after the one before has
// ended: an older answer never replaces a newer one. A call while a run waits joins it.
function takeTurns(action) {
  let last = Promise.resolve(), waiting = null;
  return () => waiting ??= last = last.catch(() => {}).then(() => {
    waiting = null;
    return action();
  });
}

// element returns a new element with text, and what else it has.
function element(name, text = "", attributes = {}, ...children) {
  const made = document.createElement(name);
  made.textContent = text;
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

// button returns a button that attempts an action, and whose name tells what it acts on.
function button(text, of, action) {
  const made = element("button", text, { type: "button", class: "quiet", "aria-label": `${text}: ${of}` });
  made.addEventListener("click", () => attempt(action));
  return made;
}

async function signIn(form) {
  environment = form.get("env");
  const entered = new Client(environment === "sandbox" ? "/sandbox/v1" : "/v1", form.get("credential").trim());
  await entered.request("GET", "/overlay_keys"); // only staff may
  client = entered;
  id("signin").hidden = true;
  id("work").hidden = false;
  follow();
  await Promise.all([listPolls(), listKeys(), listGames()]);
}

// follow receives the events about what is shown. Each time a stream has begun, it reads what
// may have changed before. It ends the stream before it only then: the list of polls has
// missed nothing, when what else is shown changes.
function follow() {
  const topics = ["poll_update:*", "vote_delete:*"];
  if (poll !== null) topics.push(`vote_update:${poll}`);
  if (question !== null) topics.push(`rank_update:${question}`);
  const stopBefore = stop;
  let covered = stopBefore !== null;
  const stopThis = client.listen(topics, {
    opened: () => {
      stopBefore?.();
      const missed = !covered;
      covered = false;
      attempt(async () => {
        if (missed) await listPolls();
        await readPoll();
        if (missed) await readHistory();
        await readAnswers();
      });
    },
    closed: () => {},
    heard: (name, data) => {
      if (name.startsWith("poll_update:")) updatePoll(data);
      else if (name.startsWith("vote_delete:")) removePoll(data.id);
      else if (name.startsWith("rank_update:")) attempt(readAnswers);
      else if (data.id === poll) { stats = data.stats; showPoll(); extendHistory(); }
    },
  });
  stop = () => { stopBefore?.(); stopThis(); };
}

// Polls.

// listPage shows the polls, or adds those after a cursor.
async function listPage(cursor) {
  const before = heard, status = id("status").value, query = new URLSearchParams({ limit: 50 });
  if (status) query.set("status", status);
  if (cursor) query.set("cursor", cursor);
  const answer = await client.request("GET", `/polls?${query}`);
  if (status !== id("status").value) return; // another list follows
  if (!cursor && before !== heard) return listPage(); // the answer may be older than what was heard
  if (!cursor) polls = new Map();
  for (const found of answer.polls) polls.has(found.id) || polls.set(found.id, found);
  next = answer.next ?? null;
  showPolls();
}

const listPolls = takeTurns(() => listPage());

function updatePoll(changed) {
  heard++;
  const wanted = id("status").value;
  if (wanted && changed.status !== wanted) polls.delete(changed.id);
  else polls.set(changed.id, changed);
  showPolls();
  if (changed.id === poll) attempt(readPoll);
}

function removePoll(gone) {
  heard++;
  polls.delete(gone);
  showPolls();
  if (gone === poll) attempt(readPoll);
}

function showPolls() {
  keepFocus(id("polls"), [...polls.values()].map((p) => {
    const open = button(p.prompt || p.id, `poll ${p.id}`, () => choosePoll(p.id));
    open.dataset.key = p.id;
    open.setAttribute("aria-pressed", p.id === poll);
    return element("li", "", {}, open, element("span", [p.disabled ? "paused" : p.status, p.hidden ? "results hidden" : ""].filter(Boolean).join(", ")));
  }), "There are no such polls.");
  id("more").hidden = next === null;
}

// keepFocus replaces the items of a list. What had the focus has it afterwards, or the
// list's heading if it is gone.
function keepFocus(list, items, empty) {
  const focused = list.contains(document.activeElement) ? document.activeElement.dataset.key : undefined;
  list.replaceChildren(...(items.length > 0 ? items : [element("li", empty, { class: "hint" })]));
  if (focused === undefined) return;
  const again = [...list.querySelectorAll("button")].find((b) => b.dataset.key === focused);
  (again ?? list.querySelector("button") ?? id(`${list.id}-title`))?.focus();
}

async function choosePoll(chosen) {
  [poll, stats, past] = [chosen, null, undefined];
  follow();
  await readPoll();
  await readHistory();
  id("poll-title").focus();
}

const readPoll = takeTurns(async () => {
  if (poll === null) return;
  const wanted = poll, before = stats;
  try {
    const [config, tally] = await Promise.all([client.request("GET", `/poll${named(wanted)}`), client.request("GET", `/vote${named(wanted)}`)]);
    if (wanted !== poll) return;
    polls.set(wanted, config);
    if (stats === before) stats = tally; // else votes came meanwhile
    id("visibility").elements.visibility.value = config.resultsVisibility;
    id("visibility").elements.showCount.checked = config.showCount;
    showPolls();
    showPoll();
  } catch (e) {
    if (!(e instanceof Refused) || e.status !== 404) throw e;
    [poll, stats] = [null, null];
    id("poll").hidden = true;
    id("poll-title").textContent = "Choose a poll";
  }
});

// options returns the names of the options that have a name or votes.
function options() {
  const names = polls.get(poll)?.options ?? [];
  return stats.specific.map((votes, value) => ({ value, votes, label: names[value] ?? `Option ${value}` })).filter((o) => o.value < names.length || o.votes > 0);
}

function showPoll() {
  const shown = polls.get(poll);
  if (!shown || !stats) return;
  id("poll").hidden = false;
  id("poll-title").textContent = shown.prompt || shown.id;
  id("poll-state").textContent = `${shown.disabled ? "paused" : shown.status}, ${number.format(stats.count)} ${stats.count === 1 ? "vote" : "votes"}${shown.hidden ? ", results hidden from viewers" : ""}${shown.questionChanged ? `, question changed at ${clock(shown.questionChanged)}` : ""}`;
  id("end").disabled = shown.status === "expired";
  id("figures").replaceChildren(...options().map((o) => element("tr", "", {}, element("th", o.label, { scope: "row", dir: "auto" }), element("td", number.format(o.votes)))));
}

// configure changes members of the chosen poll's configuration; what others change meanwhile stays.
async function configure(changes) {
  await client.request("PATCH", "/vote_config", { id: poll, config: changes });
  await readPoll();
}

async function readHistory() {
  if (poll === null || stats === null) return;
  const wanted = poll, before = stats, answer = await client.request("GET", `/vote_history${named(wanted)}`);
  if (wanted !== poll) return;
  const end = answer.points.at(-1)?.at ?? Math.floor(Date.now() / 1000);
  past = { points: answer.points, end, read: performance.now() };
  if (stats === before) drawHistory(past.points); else extendHistory(); // votes came meanwhile
}

const most = 1000; // points

// extendHistory adds the statistics of now to the history.
function extendHistory() {
  if (!past) return;
  if (past.points.length >= most) past.points = past.points.filter((_, n) => n % 2 === 0);
  const at = past.end + (performance.now() - past.read) / 1000;
  past.points.push({ at, specific: stats.specific });
  drawHistory(past.points);
}

function clock(ms) { return new Date(ms).toLocaleTimeString("en", { hour: "2-digit", minute: "2-digit", second: "2-digit" }); }

const lines = 6; // of the options with the most votes

// drawHistory draws the votes of each option over time.
function drawHistory(points) {
  const svg = (name, attributes) => {
    const made = document.createElementNS(id("chart").namespaceURI, name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    return made;
  };
  const shown = options().sort((a, b) => b.votes - a.votes).slice(0, lines);
  const top = Math.max(1, ...points.flatMap((p) => shown.map((o) => p.specific[o.value])));
  const first = points[0]?.at ?? 0, span = Math.max(1, (points.at(-1)?.at ?? 0) - first);
  const x = (at) => 10 + (580 * (at - first)) / span, y = (votes) => 225 - (210 * votes) / top;
  id("chart").replaceChildren(svg("line", { class: "axis", x1: 10, y1: 225, x2: 590, y2: 225 }), ...shown.map((o, n) =>
    svg("polyline", { class: `line line-${n}`, points: points.map((p) => `${x(p.at).toFixed(1)},${y(p.specific[o.value]).toFixed(1)}`).join(" ") })));
  const time = (at) => clock(at * 1000);
  id("chart").setAttribute("aria-label", points.length === 0 ? "No votes yet" :
    `Votes from ${time(first)} to ${time(first + span)}: ${shown.map((o) => `${o.label} ${points.at(-1).specific[o.value]}`).join(", ")}`);
  id("range").textContent = points.length === 0 ? "No votes yet." : `From ${time(first)} to ${time(first + span)}, up to ${number.format(top)} votes for an option.`;
  id("legend").replaceChildren(...shown.map((o, n) => element("li", "", {}, element("span", "", { class: `key line-${n}` }), element("bdi", o.label))));
}

// Answers.

async function openQuestion(chosen) {
  [question, merging] = [chosen, null];
  follow();
  await readAnswers();
  await readConfig();
  id("answers").hidden = false;
}

async function readConfig() {
  const form = id("config").elements;
  try {
    const config = await client.request("GET", `/rank_config${named(question)}`);
    configured = { blocked: [], ...config };
    for (const name of ["normalization", "answersPerViewer", "minLength", "maxLength"]) form[name].value = config[name];
    form.holdAnswers.checked = config.holdAnswers;
    form.blocked.value = (config.blocked ?? []).join("\n");
  } catch (e) {
    if (!(e instanceof Refused) || e.status !== 404) throw e;
    configured = {};
    id("config").reset();
  }
}

const readAnswers = takeTurns(async () => {
  if (question === null) return;
  const wanted = question;
  const found = await Promise.all(states.map((state) => client.request("GET", `/rank${named(wanted)}&state=${state}`)));
  if (wanted !== question) return;
  states.forEach((state, n) => showAnswers(state, found[n].data));
  id("held-size").textContent = found[0].data.length > 0 ? `(${found[0].data.length})` : "";
});

function showAnswers(state, answers) {
  keepFocus(id(state), answers.map((a) => {
    const group = a.group ?? a.key;
    const act = (text, action) => {
      const made = button(text, a.key, action);
      made.dataset.key = `${text} ${group}`;
      return made;
    };
    const moderate = (action, into) => async () => {
      await client.request("POST", `/rank_moderation${named(question)}`, { action, key: into ? merging : group, into });
      setMerging(null);
      await readAnswers();
    };
    const actions = merging === null ? [
      ...(state === "visible" ? [] : [act("Show", moderate("show"))]),
      ...(state === "hidden" ? [] : [act("Hide", moderate("hide"))]),
      act("Merge", async () => { setMerging(group, a.key); await readAnswers(); }),
    ] : merging === group ? [] : [act("Into this", moderate("merge", group))];
    const decided = a.actor ? [element("span", "hidden by ", { class: "hint" }, element("bdi", [a.actor.role, a.actor.id].filter(Boolean).join(" ")))] : [];
    return element("li", "", {}, element("bdi", a.key), element("span", number.format(a.score)), ...decided, element("span", "", { class: "buttons" }, ...actions));
  }), "None.");
}

function setMerging(group, label) {
  merging = group;
  id("merging").textContent = group === null ? "" : `Choose the answer that “${label}” counts for.`;
  id("cancel").hidden = group === null;
}

async function saveConfig(form) {
  const blocked = form.get("blocked").split("\n").map((line) => line.trim()).filter((line) => line !== "");
  const config = { normalization: form.get("normalization"), holdAnswers: form.has("holdAnswers"), blocked };
  for (const name of ["answersPerViewer", "minLength", "maxLength"]) config[name] = Number(form.get(name));
  // What this form leaves as it was is not sent: others may have changed it.
  const changes = Object.fromEntries(Object.entries(config).filter(([name, value]) => JSON.stringify(value) !== JSON.stringify(configured[name])));
  try {
    await client.request("PATCH", "/rank_config", { id: question, config: changes });
  } catch (e) {
    if (!(e instanceof Refused) || e.status !== 404) throw e;
    await client.request("POST", `/rank_config${named(question)}`, config); // the first of the question
  }
  configured = { ...configured, ...config };
}

// Games.

async function listGames() {
  const { games } = await client.request("GET", "/gamelink/games");
  keepFocus(id("games"), games.map((g) => {
    const name = `${g.server ? "a game of all channels" : "a game"}, paired ${g.created ? new Date(g.created * 1000).toLocaleString() : "by an earlier version"}`;
    const end = button("End", name, async () => {
      await client.request("DELETE", `/gamelink/games${named(g.id)}`);
      await listGames();
    });
    return element("li", "", {}, element("span", name), end);
  }), "No game is paired.");
}

// Overlay keys.

async function listKeys() {
  const { keys } = await client.request("GET", "/overlay_keys");
  keepFocus(id("keys"), keys.map((k) => {
    const name = k.name || "a key without a name";
    const revoke = button("Revoke", name, async () => {
      await client.request("DELETE", `/overlay_keys${named(k.id)}`);
      await listKeys();
    });
    revoke.dataset.key = k.id;
    return element("li", "", {}, element("bdi", name), element("span", [...(k.polls ?? (k.questions ? [] : ["all polls"])), ...(k.questions ?? [])].join(", ")), revoke);
  }), "There are none.");
}

async function makeKey(form) {
  const kind = form.get("kind"), shown = form.get("shown");
  const key = await client.request("POST", "/overlay_keys", { name: form.get("name"), [`${kind}s`]: [shown] });
  const address = new URL(`./?${new URLSearchParams({ env: environment, [kind]: shown })}#access_token=${encodeURIComponent(key.credential)}`, location.href);
  id("made").hidden = false;
  id("address").value = address;
  await listKeys();
  id("address").focus();
  id("address").select();
}

// on has a form or button attempt an action, with the form's values.
function on(name, event, action) {
  id(name).addEventListener(event, (e) => {
    e.preventDefault();
    attempt(() => action(event === "submit" ? new FormData(e.target) : undefined));
  });
}

on("signin", "submit", signIn);
on("status", "change", listPolls);
on("more", "click", () => listPage(next));
on("visibility", "submit", (form) => configure({ resultsVisibility: form.get("visibility"), showCount: form.has("showCount") }));
on("end", "click", () => configure({ endsAt: -1 }));
on("history", "click", readHistory);
on("question", "submit", (form) => openQuestion(form.get("id")));
on("cancel", "click", async () => { setMerging(null); await readAnswers(); });
on("config", "submit", saveConfig);
on("key", "submit", makeKey);
on("copy", "click", () => navigator.clipboard.writeText(id("address").value));

// An address may bring the credential along, which then does not stay in it.
const brought = new URLSearchParams(location.hash.slice(1)).get("access_token");
if (brought) {
  const form = id("signin").elements;
  form.env.value = new URLSearchParams(location.search).get("env") ?? "production";
  form.credential.value = brought;
  history.replaceState(null, "", location.pathname + location.search);
  attempt(() => signIn(new FormData(id("signin"))));
}
