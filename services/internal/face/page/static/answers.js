// The answers to a question, which staff moderates.

import { Refused } from "./client.js";
import { button, clock, desk, id, named, number, on } from "./desk.js";
import { element, fill, keepFocus, lines, takeTurns } from "./dom.js";

const states = ["held", "visible", "hidden"];

let configured = {}; // the question's configuration, and whether it is saved
let merging = null; // the group to be merged into another

async function openQuestion(chosen) {
  [desk.question, merging] = [chosen, null];
  desk.follow();
  await readAnswers();
  await readConfig(true);
  id("answers").hidden = false;
}

const defaults = { normalization: "none", answersPerViewer: 1, minLength: 1, maxLength: 256, holdAnswers: false, blocked: [] };

// readConfig shows the question's configuration. What a person has typed stays, unless it is
// another question.
async function readConfig(another) {
  const wanted = desk.question;
  let found = null; // null: the question has none
  try {
    found = await desk.client.request("GET", `/rank_config${named(wanted)}`);
  } catch (e) {
    if (!(e instanceof Refused) || e.status !== 404) throw e;
  }
  if (wanted !== desk.question) return;
  configured = { ...defaults, ...found, saved: found !== null };
  const { normalization, answersPerViewer, minLength, maxLength, holdAnswers, blocked } = configured;
  fill(id("config"), { normalization, answersPerViewer: String(answersPerViewer), minLength: String(minLength), maxLength: String(maxLength), holdAnswers, blocked: blocked.join("\n") }, another);
  showAsked(configured);
}

export const readAnswers = takeTurns(async () => {
  if (desk.question === null) return;
  const wanted = desk.question;
  const found = await Promise.all(states.map((state) => desk.client.request("GET", `/rank${named(wanted)}&state=${state}`)));
  if (wanted !== desk.question) return;
  states.forEach((state, n) => showAnswers(state, found[n].data));
  showAsked(found[0]);
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
      await desk.client.request("POST", `/rank_moderation${named(desk.question)}`, { action, key: into ? merging : group, into });
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
  const config = { normalization: form.get("normalization"), holdAnswers: form.has("holdAnswers"), blocked: lines(form.get("blocked")) };
  for (const name of ["answersPerViewer", "minLength", "maxLength"]) config[name] = Number(form.get(name));
  // What this form leaves as it was is not sent: others may have changed it.
  await change(Object.fromEntries(Object.entries(config).filter(([name, value]) => JSON.stringify(value) !== JSON.stringify(configured[name]))), config);
}

// change saves changes of the question's configuration, or the first one of a question without any.
async function change(changes, first = changes) {
  try {
    await desk.client.request("PATCH", "/rank_config", { id: desk.question, config: changes });
  } catch (e) {
    if (!(e instanceof Refused) || e.status !== 404) throw e;
    await desk.client.request("POST", `/rank_config${named(desk.question)}`, first);
  }
  await readConfig(false);
}

// ask begins a question now, which also makes it the live one of overlays that show several.
async function ask() {
  await change({ startsAt: Math.floor(now()), endsAt: 0, ...(configured.saved ? {} : { normalization: "nfkc" }) });
}

const now = () => (Date.now() + desk.client.skew) / 1000; // of the server

function showAsked({ startsAt = 0, endsAt = 0 }) {
  const ended = endsAt > 0 && endsAt <= now(), asked = startsAt > 0 ? `Asked at ${clock(startsAt * 1000)}.` : "Viewers may answer at any time.";
  id("asked").textContent = ended ? `Ended at ${clock(endsAt * 1000)}.` : startsAt > now() ? `Begins at ${clock(startsAt * 1000)}.` : asked;
  id("stop-asking").disabled = ended;
}

on("question", "submit", (form) => openQuestion(form.get("id")));
on("cancel", "click", async () => { setMerging(null); await readAnswers(); });
on("config", "submit", saveConfig);
on("ask", "click", ask);
on("stop-asking", "click", () => change({ endsAt: -1 }));
