// The link to the page on which devices vote in a poll, and its QR code, for staff to share.

import { count, desk, id, named, on } from "./desk.js";

const every = 10_000; // milliseconds between two counts of devices, while votes come
let waiting = null; // the timer of the next count

// show offers the link of a poll that lets devices vote. It is called after each vote, too, and then
// counts devices now and then.
export function show(poll) {
  id("share").hidden = !poll.deviceVoting;
  if (!poll.deviceVoting) return;
  const names = [desk.staff.extension, desk.staff.channel, poll.id];
  const link = new URL(`/vote/${names.map(encodeURIComponent).join("/")}${desk.environment === "sandbox" ? "?env=sandbox" : ""}`, location.href).href;
  const another = id("link").value !== link;
  if (another) {
    id("link").value = link;
    id("code").src = `/vote/qr.svg?link=${encodeURIComponent(link)}`;
    id("devices").textContent = "";
    clearTimeout(waiting);
    waiting = null;
  }
  waiting ??= setTimeout(countDevices, another ? 0 : every, poll.id, link);
}

async function countDevices(poll, link) {
  waiting = null;
  try {
    const { devices = 0 } = await desk.client.request("GET", `/vote${named(poll)}`);
    if (id("link").value !== link) return;
    id("devices").textContent = `${count(devices, "device")} voted. A person with several devices or browsers can vote several times.`;
  } catch { /* the page says what is wrong with the connection, and the next vote asks again */ }
}

on("copy-link", "click", () => navigator.clipboard.writeText(id("link").value));
