// The answers to a question, which staff moderates.

import { Refused } from "./client.js";
import { button, desk, id, named, number, on } from "./desk.js";
import { element, keepFocus, takeTurns } from "./dom.js";

const states = ["held", "visible", "hidden"];

let configured = {}; // the question's configuration, as this page has read or saved it
let merging = null; // the group to be merged into another

async function openQuestion(chosen) {
  [desk.question, merging] = [chosen, null];
  desk.follow();
  await readAnswers();
  await readConfig();
  id("answers").hidden = false;
}

async function readConfig() {
  const form = id("config").elements;
  try {
    const config = await desk.client.request("GET", `/rank_config${named(desk.question)}`);
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

export const readAnswers = takeTurns(async () => {
  if (desk.question === null) return;
  const wanted = desk.question;
  const found = await Promise.all(states.map((state) => desk.client.request("GET", `/rank${named(wanted)}&state=${state}`)));
  if (wanted !== desk.question) return;
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
  const blocked = form.get("blocked").split("\n").map((line) => line.trim()).filter((line) => line !== "");
  const config = { normalization: form.get("normalization"), holdAnswers: form.has("holdAnswers"), blocked };
  for (const name of ["answersPerViewer", "minLength", "maxLength"]) config[name] = Number(form.get(name));
  // What this form leaves as it was is not sent: others may have changed it.
  const changes = Object.fromEntries(Object.entries(config).filter(([name, value]) => JSON.stringify(value) !== JSON.stringify(configured[name])));
  try {
    await desk.client.request("PATCH", "/rank_config", { id: desk.question, config: changes });
  } catch (e) {
    if (!(e instanceof Refused) || e.status !== 404) throw e;
    await desk.client.request("POST", `/rank_config${named(desk.question)}`, config); // the first of the question
  }
  configured = { ...configured, ...config };
}

on("question", "submit", (form) => openQuestion(form.get("id")));
on("cancel", "click", async () => { setMerging(null); await readAnswers(); });
on("config", "submit", saveConfig);
