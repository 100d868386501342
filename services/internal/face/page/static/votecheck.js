// A vote that the viewer can check: the page draws its secret, and gives the viewer the receipt as a file. It checks
// nothing, as a server that could be dishonest must not serve the checker.

import { save } from "./dom.js";
import { text } from "./texts.js";

const soon = 10_000; // milliseconds in which a server signs a vote
const most = 5; // votes of which the secrets are kept
const section = document.getElementById("check"), state = document.getElementById("check-state"), button = document.getElementById("save-receipt");

let receipt = "", file = "";

const bytes = (value) => new TextEncoder().encode(value);
const encode = (value) => btoa(String.fromCharCode(...value));
const digest = async (...parts) => new Uint8Array(await crypto.subtle.digest("SHA-256", await new Blob(parts).arrayBuffer()));

// drawSecret returns the secret of a vote, and what the server gets of it. Browsers have the digest for https alone:
// without it there is no secret.
export async function drawSecret({ client, channel, poll }) {
  if (!crypto.subtle) return null;
  const name = [client, channel, poll].map(bytes).flatMap((part) => [new Uint8Array([part.length >> 8, part.length]), part]);
  const key = await digest(bytes("acclaim poll v1\n"), ...name), nonce = crypto.getRandomValues(new Uint8Array(16));
  return { nonce: encode(nonce), nonceHash: encode((await digest(bytes("acclaim nonce v1\n"), key, nonce)).slice(0, 16)) };
}

// keepSecret keeps the secret of a vote that is about to be sent: its answer may be lost.
export function keepSecret(place, secret) { store(place, [...load(place), { ...secret, at: Date.now() }].slice(-most)); }

// keepIndex keeps the place of a vote in the list of votes.
export function keepIndex(place, secret, index) { keepMore(place, secret, { index }); }

function keepMore(place, { nonceHash }, more) { store(place, load(place).map((vote) => (vote.nonceHash === nonceHash ? { ...vote, ...more } : vote))); }

function load(place) {
  try {
    return JSON.parse(localStorage.getItem(place)) ?? [];
  } catch {
    return []; // the browser keeps nothing for pages, and the viewer has no receipt
  }
}

function store(place, votes) {
  try {
    localStorage.setItem(place, JSON.stringify(votes));
  } catch { /* the browser keeps nothing for pages */ }
}

// hideCheck takes the receipt away.
export function hideCheck() { section.hidden = true; }

// showCheck shows what has become of the viewer's latest vote, and reports whether its receipt is to come soon. read
// returns the receipt that the server has, "" for none.
export async function showCheck(place, poll, read) {
  const votes = load(place), latest = votes.at(-1);
  if (!latest) return false;
  const found = latest.receipt ?? await read(), own = votes.findLast((vote) => vote.nonceHash === hashIn(found));
  if (own === latest) keepMore(place, latest, { receipt: found });
  receipt = own ? found.replace(/^(name .+\n)/m, `$1nonce ${own.nonce}\n`) : "";
  file = `${poll}.acclaim-receipt`;
  const ready = own === latest || own && latest.index === undefined; // of a vote without an answer it is not known whether it came
  const elsewhere = !own && latest.index !== undefined && placeIn(found) > latest.index, expected = Date.now() - latest.at < soon;
  say(ready ? "receiptReady" : elsewhere ? "receiptElsewhere" : expected ? "receiptSoon" : "receiptLate");
  button.hidden = !ready;
  section.hidden = false;
  return expected && !ready && !elsewhere;
}

function say(name) { if (state.textContent !== text(name)) state.textContent = text(name); }

// hashIn returns what a receipt has of the secret: the last 16 bytes of the first leaf.
function hashIn(found) {
  const leaf = /^extra (.+)$/m.exec(found)?.[1];
  return leaf ? btoa(atob(leaf).slice(-16)) : "";
}

// placeIn returns the place in the list of the vote that a receipt is of.
const placeIn = (found) => Number(/^index (\d+)$/m.exec(found)?.[1] ?? -1);

button.addEventListener("click", () => save(file, new Blob([receipt], { type: "text/plain" })));
