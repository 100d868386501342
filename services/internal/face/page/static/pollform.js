// The form in which staff corrects a poll.

import { changed, fill, lines } from "./dom.js";

// settings returns the members of a configuration that the fields of a form stand for.
export function settings(choices, devices) {
  const votes = Number(choices.value);
  return { totalVotesPerUser: votes, distinctOptionsPerUser: votes, votesPerOption: 1, deviceVoting: devices.checked };
}

// show fills the form with a poll. What a person has typed stays, unless it is another poll.
export function show(form, poll, another) {
  fill(form, { prompt: poll.prompt, options: (poll.options ?? []).join("\n"), choices: String(poll.totalVotesPerUser ?? 1), devices: poll.deviceVoting ?? false }, another);
}

// correction returns the members that a person has changed, null for none.
export function correction(form) {
  const members = { prompt: ["prompt"], options: ["options"], devices: ["deviceVoting"], choices: ["totalVotesPerUser", "distinctOptionsPerUser", "votesPerOption"] };
  const { prompt, options, choices, devices } = form.elements, config = { prompt: prompt.value.trim(), options: lines(options.value), ...settings(choices, devices) };
  const names = changed(form).flatMap((name) => members[name] ?? []);
  return names.length === 0 ? null : Object.fromEntries(names.map((name) => [name, config[name]]));
}
