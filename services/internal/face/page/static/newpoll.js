// The form in which staff starts the next poll of a show, by typing or pasting into one field.

import { desk, id, on, say } from "./desk.js";
import { element, fill, lines } from "./dom.js";
import { settings } from "./pollform.js";

const form = id("new"), text = form.elements.text;

// parse returns the question in the first line of a text, and the options below it. A row of a spreadsheet has tabs in
// place of line ends.
function parse(text) {
  const [prompt, ...rest] = text.split(/[\n\t]/);
  return { prompt: prompt.trim(), options: lines(rest.join("\n")) };
}

// begin fills the form with another poll, or with nothing.
function begin(template = {}) {
  const { prompt = "", options = [], totalVotesPerUser = 1, deviceVoting = false, verifiable = false } = template;
  const { entries = "close", minVoters = "", keepDays = "", noReceipts = false } = template;
  fill(form, {
    text: [prompt, ...options].join("\n"), choices: String(totalVotesPerUser), devices: deviceVoting, verifiable,
    entries, minVoters: String(minVoters), keepDays: String(keepDays), noReceipts,
  }, true);
  offerPromises();
}

// offerPromises shows what a poll promises of its list of votes, if it has one.
function offerPromises() {
  const { promises, verifiable } = form.elements;
  promises.hidden = promises.disabled = !verifiable.checked;
}

// checkable returns the settings of a poll that lists its votes. The server has defaults for what is empty.
function checkable({ entries, minVoters, keepDays, noReceipts }) {
  const promises = { entries: entries.value, minVoters: Number(minVoters.value), keepDays: Number(keepDays.value), noReceipts: noReceipts.checked };
  const typed = Object.entries(promises).filter(([, value]) => value);
  return { verifiable: true, showCount: true, ...Object.fromEntries(typed) }; // the list shows how many votes there are
}

// read returns the request that saves the poll, which starts it.
function read() {
  const { choices, devices, id, minutes, verifiable, visibility } = form.elements, poll = parse(text.value);
  const config = { ...poll, ...settings(choices, devices), strict: true, resultsVisibility: visibility.value };
  if (verifiable.checked) Object.assign(config, checkable(form.elements));
  if (Number(minutes.value) > 0) config.endsAt = Math.floor(Date.now() / 1000) + Math.round(60 * Number(minutes.value));
  return { id: id.value.trim() || `poll-${Date.now().toString(36)}`, config };
}

// offerForm lets staff start polls. list returns those that one can begin with, and choose shows the new one and moves
// the focus.
export function offerForm({ list, choose }) {
  const details = form.querySelector("details");
  const offer = () => id("template").replaceChildren(element("option", "an empty form", { value: "" }), ...list().map((p) => element("option", p.prompt || p.id, { value: p.id })));
  on("new", "submit", async () => {
    const wanted = read(), typed = text.value, next = document.activeElement === text ? text : undefined;
    if (!wanted.config.prompt) return say("The first line is the question, and it is empty.");
    if (list().some((p) => p.id === wanted.id)) return say(`There is a poll ${wanted.id} already: choose it to correct it, or take another id.`);
    await desk.client.request("POST", "/vote_config", wanted);
    if (text.value === typed) { // else a person types the next poll already
      form.reset();
      offerPromises();
    }
    await choose(wanted.id, next);
    offer();
    id("done").textContent = "The poll is open.";
  });
  on("template", "change", () => begin(list().find((p) => p.id === id("template").value)));
  details.addEventListener("toggle", offer);
  form.elements.verifiable.addEventListener("change", offerPromises);
  form.addEventListener("invalid", ({ target }) => { // the browser points at the field
    for (const folded of form.querySelectorAll("details")) folded.open ||= folded.contains(target);
  }, true);
  text.addEventListener("keydown", (e) => {
    if (e.key !== "Enter" || e.isComposing || e.repeat || e.shiftKey || !(e.ctrlKey || e.metaKey || isFinished())) return;
    e.preventDefault();
    form.requestSubmit(id("start")); // the button is inactive while a poll starts, so that a second key starts no other
  });
}

// isFinished reports whether a person is in an empty line at the end, below a question with two options or more.
function isFinished() {
  const { selectionStart, selectionEnd, value } = text, before = value.slice(0, selectionStart);
  return selectionStart === selectionEnd && value.slice(selectionEnd).trim() === "" && /\n\s*$/.test(before) && parse(value).options.length >= 2;
}
