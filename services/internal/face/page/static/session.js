// What a page can know of a credential by itself. The server says whether it is good.

import { Refused } from "./client.js";

// findProblem returns what is wrong with the form of a credential, "" for nothing.
export function findProblem(credential) {
  const [client, token, ...more] = credential.split(/\s+/);
  if (client.toLowerCase() === "bearer") return "Put the client id of the extension in the place of “Bearer”.";
  if (!token || more.length > 0) return "A client id and a token are needed, with one blank between them.";
  if (!readClaims(token)) return "The second word is no token: a token has three parts with dots between them.";
  return "";
}

// endOf returns when a credential ends, in milliseconds, or null where it does not say so.
export function endOf(credential) {
  const end = readClaims(credential.split(/\s+/)[1] ?? "")?.exp;
  return Number.isFinite(end) ? end * 1000 : null;
}

// hasEnded reports whether a credential has ended by the clock of this device, which may be wrong.
export function hasEnded(credential) { return (endOf(credential) ?? Infinity) <= Date.now(); }

// readStaff returns what a person may do. A process of an earlier version does not say so: its staff may do
// everything, and it refuses others.
export async function readStaff(client) {
  try {
    return await client.request("GET", "/staff");
  } catch (e) {
    if (!(e instanceof Refused) || e.status !== 404) throw e;
    const [extension, token = ""] = client.credential.split(/\s+/);
    return { role: "broadcaster", channel: readClaims(token)?.channel_id, scopes: ["polls", "answers"], extension };
  }
}

// rightsOf returns what a person may do: the scopes, and "channel" for what no staff key is good for.
export function rightsOf({ role, scopes }) { return ["staff_key", "moderator"].includes(role) ? scopes : [...scopes, "channel"]; }

function readClaims(token) {
  const parts = token.split(".");
  if (parts.length !== 3) return null;
  try {
    return JSON.parse(atob(parts[1].replaceAll("-", "+").replaceAll("_", "/")));
  } catch {
    return null;
  }
}
