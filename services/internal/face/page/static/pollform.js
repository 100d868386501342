// The form in which staff writes a poll.

import { changed, fill, lines } from "./dom.js";

// fieldsOf returns the values of the form's fields for a poll.
function fieldsOf(poll) {
  return { prompt: poll.prompt, options: (poll.options ?? []).join("\n"), choices: String(poll.totalVotesPerUser ?? 1), devices: poll.deviceVoting ?? false };
}

// show fills the form with a poll. What a person has typed stays, unless it is another poll.
export function show(form, poll, another) { fill(form, fieldsOf(poll), another); }

// empty fills the form of a new poll with another one, or with nothing.
export function begin(form, template) {
  fill(form, { ...fieldsOf(template ?? { prompt: "", options: [] }), minutes: form.elements.minutes.value, verifiable: template?.verifiable ?? false }, true);
}

// read returns a configuration of what the form has.
function read(form) {
  const { prompt, options, choices, devices } = form.elements, votes = Number(choices.value);
  return {
    prompt: prompt.value.trim(), options: lines(options.value),
    totalVotesPerUser: votes, distinctOptionsPerUser: votes, votesPerOption: 1,
    deviceVoting: devices.checked,
  };
}

// newPoll returns the request that saves a new poll.
export function newPoll(form) {
  const config = { ...read(form), strict: true, resultsVisibility: form.elements.visibility.value };
  if (form.elements.verifiable.checked) Object.assign(config, { verifiable: true, showCount: true }); // the list of votes shows how many there are
  const minutes = Number(form.elements.minutes.value);
  if (minutes > 0) config.endsAt = Math.floor(Date.now() / 1000) + Math.round(60 * minutes);
  return { id: form.elements.id.value.trim() || `poll-${Date.now().toString(36)}`, config };
}

// correction returns the members that a person has changed, null for none.
export function correction(form) {
  const members = { prompt: ["prompt"], options: ["options"], devices: ["deviceVoting"], choices: ["totalVotesPerUser", "distinctOptionsPerUser", "votesPerOption"] };
  const config = read(form), names = changed(form).flatMap((name) => members[name] ?? []);
  return names.length === 0 ? null : Object.fromEntries(names.map((name) => [name, config[name]]));
}
