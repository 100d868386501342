// A generated site: a closed poll with many votes, its log, and the receipt of one of the votes. It
// hashes with Node.js, so that the two sides of a check are not one.

import { createHash, generateKeyPairSync, sign } from "node:crypto";

import { encodeSums } from "../dist/src/sums.js";

const sha256 = (...parts) => {
  const hash = createHash("sha256");
  for (const part of parts) hash.update(part);
  return hash.digest();
};
const u8 = (...bytes) => Buffer.from(bytes);
const u16 = (n) => u8(n >> 8, n & 255);
const u64 = (n) => {
  const data = Buffer.alloc(8);
  data.writeBigUInt64BE(BigInt(n));
  return data;
};
const block = (data) => Buffer.concat([u16(data.length), data]);
const text = (value) => Buffer.from(value);

const origin = "site.example/acclaim/00000000", treeID = Buffer.alloc(16, 1), name = { client: "sample", channel: "1", poll: "many" };
const config = '{"disabled":false,"distinctOptionsPerUser":"1","endsAt":"0","loggedInOnly":false,"options":["Soup","Salad","Cake"],"prompt":"What is for lunch?","resultsVisibility":"always",'
  + '"showCount":false,"startsAt":"0","totalVotesPerUser":"1","userIDVoting":false,"version":"1","votesPerOption":"1"}';
const closedAt = 1_800_000_000_000;

function entry(kind, { flags = 0, voter = 0, value = 0, times = 0, config: index = 0, nonce = Buffer.alloc(16), tail = Buffer.alloc(0) } = {}) {
  const data = Buffer.alloc(40 + tail.length);
  data.set([1, kind, flags], 0);
  data.writeBigUInt64BE(BigInt(voter), 4);
  data.writeInt16BE(value, 12);
  data.writeUInt16BE(times, 14);
  data.writeBigUInt64BE(BigInt(index), 16);
  nonce.copy(data, 24);
  tail.copy(data, 40);
  return data;
}

// MerkleTree keeps all hashes of perfect subtrees, by level.
class MerkleTree {
  levels = []; // each the hashes behind each other
  constructor(leaves, count) {
    const level = (n, hash) => {
      const hashes = Buffer.alloc(32 * n);
      for (let i = 0; i < n; i++) hash(i).copy(hashes, 32 * i);
      this.levels.push(hashes);
    };
    level(count, (i) => sha256(u8(0), leaves(i)));
    for (let n = count >> 1; n > 0; n >>= 1) {
      const below = this.levels.at(-1);
      level(n, (i) => sha256(u8(1), below.subarray(64 * i, 64 * i + 64)));
    }
    this.size = count;
  }

  root(from = 0, count = this.size) {
    const level = Math.log2(count);
    if (Number.isInteger(level) && from % count === 0) return this.levels[level].subarray(32 * from / count, 32 * from / count + 32);
    const k = 2 ** (Math.ceil(level) - 1);
    return sha256(u8(1), this.root(from, k), this.root(from + k, count - k));
  }

  path(index, from = 0, count = this.size) {
    if (count === 1) return [];
    const k = 2 ** (Math.ceil(Math.log2(count)) - 1);
    return index < from + k ? [...this.path(index, from, k), this.root(from + k, count - k)] : [...this.path(index, from + k, count - k), this.root(from, k)];
  }

  tile(level, n, width) {
    return this.levels[8 * level].subarray(32 * 256 * n, 32 * (256 * n + width));
  }
}

function checkpoint(name, tree, keys) {
  const body = `${name}\n${tree.size}\n${tree.root().toString("base64")}\n`;
  const signature = Buffer.concat([sha256(text(`${name}\n`), u8(1), keys.raw).subarray(0, 4), sign(null, text(body), keys.privateKey)]);
  return `${body}\n— ${name} ${signature.toString("base64")}\n`;
}

const proof = (tree, index, note, extra) =>
  `c2sp.org/tlog-proof@v1\n${extra ? `extra ${extra.toString("base64")}\n` : ""}index ${index}\n${tree.path(index).map((hash) => hash.toString("base64") + "\n").join("")}\n${note}`;

// generateSite returns a receipt of the last vote but one, the verifier key, and the files by path.
export function generateSite(votes) {
  const pair = generateKeyPairSync("ed25519"), keys = { ...pair, raw: pair.publicKey.export({ type: "spki", format: "der" }).subarray(-32) };
  const encodedName = Buffer.concat([name.client, name.channel, name.poll].map((part) => block(text(part)))), pollKey = sha256("acclaim poll v1\n", encodedName);
  const nonceHash = (nonce) => sha256("acclaim nonce v1\n", pollKey, nonce).subarray(0, 16), nonceOf = (i) => sha256(u64(i)).subarray(0, 16);
  const size = votes + 3;
  const leaf = (i) => {
    if (i === 0) return entry(5, { tail: Buffer.concat([treeID, pollKey, u64(closedAt - 60_000)]) });
    if (i === 1) return entry(4, { tail: text(config) });
    if (i === size - 1) return entry(7, { tail: u64(closedAt) });
    return entry(2, { flags: 2, voter: i, value: i % 3, times: 1, config: 1, nonce: nonceHash(nonceOf(i)) });
  };
  const tree = new MerkleTree(leaf, size);
  const slots = [0n, 0n, 0n];
  for (let i = 2; i < size - 1; i++) slots[i % 3]++;
  const sums = { count: BigInt(votes), sum: slots[1] + 2n * slots[2], squares: slots[1] + 4n * slots[2], slots };
  const begin = Buffer.concat([u8(1, 1), u64(closedAt - 60_000), block(text(origin)), block(u8()), u64(0), Buffer.alloc(32)]);
  const final = Buffer.concat([u8(1, 3), u64(closedAt), pollKey, treeID, u8(2, 3), u64(size), tree.root(), u64(2n ** 64n - 1n), u64(0), block(Buffer.from(encodeSums(sums)))]);
  const log = new MerkleTree((i) => [begin, final][i], 2);
  const logNote = checkpoint(origin, log, keys), treeNote = checkpoint(`${origin}/t/${treeID.toString("hex")}`, tree, keys), own = size - 2;
  const receipt = `acclaim-receipt/v1\nname ${encodedName.toString("base64")}\nnonce ${nonceOf(own).toString("base64")}\n--- vote\n${proof(tree, own, treeNote, leaf(own))}`
    + `--- config\n${proof(tree, 1, treeNote, leaf(1))}--- poll\n${proof(log, 1, logNote, final)}`;
  const result = JSON.stringify({
    origin, tree: treeID.toString("hex"), name, proved: {
      leaf: final.toString("base64"), proof: proof(log, 1, logNote),
      sums: { count: String(sums.count), sum: String(sums.sum), squares: String(sums.squares), slots: Object.fromEntries(slots.map((n, i) => [i, String(n)]).filter(([, n]) => n !== "0")) },
    },
  });
  const bundles = Array.from({ length: Math.ceil(size / 256) }, (_, n) => Buffer.concat(Array.from({ length: Math.min(256, size - 256 * n) }, (_, i) => block(leaf(256 * n + i)))));
  const files = (path) => {
    if (path === "log/checkpoint") return text(logNote);
    if (path === "public/sample/1/many/result.json") return text(result);
    const [, folder, level, digits, width] = /^log\/(t\/\w+\/)?tile\/(\w+)\/([x\d/]+)(?:\.p\/(\d+))?$/.exec(path) ?? [];
    if (level === undefined) return undefined;
    const n = Number(digits.replaceAll(/[x/]/g, "")), count = Number(width ?? 256);
    if (level === "entries") return folder ? bundles[n] : undefined;
    return (folder ? tree : log).tile(Number(level), n, count);
  };
  const key = `${origin}+${sha256(text(`${origin}\n`), u8(1), keys.raw).subarray(0, 4).toString("hex")}+${Buffer.concat([u8(1), keys.raw]).toString("base64")}`;
  return { receipt, key, files };
}
