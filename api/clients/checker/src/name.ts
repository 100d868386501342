// Names of polls, logs and trees.

import { type Bytes, FormatError, block, concat, hex, utf8 } from "./bytes.js";
import { sha256 } from "./sha256.js";

// The channel is empty for a poll of all channels.
export interface PollName {
  client: string;
  channel: string;
  poll: string;
}

export function encodeName(name: PollName): Bytes {
  return concat(...[name.client, name.channel, name.poll].map((part) => block(utf8(part))));
}

// pollKey stands for a poll's name in the log, which must hold no name.
export const pollKey = (name: PollName): Bytes => sha256(concat(utf8("acclaim poll v1\n"), encodeName(name)));

// nonceHash is the part of a viewer's secret that an entry shows.
export function nonceHash(poll: Bytes, nonce: Bytes): Bytes {
  return sha256(concat(utf8("acclaim nonce v1\n"), poll, nonce)).slice(0, 16);
}

// escapePart leaves the characters as they are that the server leaves.
function escapePart(part: string): string {
  return encodeURIComponent(part)
    .replace(/[!'()*]/g, (c) => "%" + c.charCodeAt(0).toString(16).toUpperCase())
    .replace(/%(24|26|2B|3A|3D|40)/g, (code) => decodeURIComponent(code));
}

// resultPath is the path of the poll's result.json below the site.
export function resultPath(name: PollName): string {
  return ["public", escapePart(name.client), name.channel === "" ? "-" : escapePart(name.channel), escapePart(name.poll), "result.json"].join("/");
}

export const treeOrigin = (origin: string, tree: Bytes): string => `${origin}/t/${hex(tree)}`;

export function checkOrigin(origin: string): void {
  if (!/^[!-*,-~]+\/[0-9a-f]{8}$/.test(origin) || origin.length > 200) {
    throw new FormatError("an origin is a setting, a slash and 8 hexadecimal digits, of at most 200 visible ASCII characters without +");
  }
}

// siteOf is the address at which the files of a log are by default: an origin begins with a host.
export const siteOf = (origin: string): string => `https://${origin.split("/", 1)[0]}`;
