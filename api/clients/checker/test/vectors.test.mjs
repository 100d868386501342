// The formats, by the vectors that api/verifiable writes.

import assert from "node:assert/strict";
import { createHash, createHmac } from "node:crypto";
import { test } from "node:test";

import { checkBallotProof, hashLarge, hashSmall, sumsOfBallots, treeOfBallots } from "../dist/src/ballots.js";
import { hex, u64 } from "../dist/src/bytes.js";
import { parseLeaf, saltAt } from "../dist/src/entry.js";
import { verifyEd25519 } from "../dist/src/ed25519.js";
import { verifyPortable } from "../dist/src/portable.js";
import { sentences } from "../dist/src/finding.js";
import { Fold } from "../dist/src/fold.js";
import { checkReceipt } from "../dist/src/index.js";
import { parseLogLeaf } from "../dist/src/logleaf.js";
import { nonceHash, pollKey, resultPath } from "../dist/src/name.js";
import { Keys } from "../dist/src/note.js";
import { hmacSha256, sha256 } from "../dist/src/sha256.js";
import { encodeSums, equalSums, parseSums, sumsOfJSON } from "../dist/src/sums.js";
import { NonceSet } from "../dist/src/nonces.js";
import { Frontier } from "../dist/src/tree.js";
import { bytes, fromBase64, readSource, vectors } from "./shared.mjs";

test("SHA-256 is that of another implementation", () => {
  for (let n = 0; n < 300; n++) {
    const data = Uint8Array.from({ length: n }, (_, i) => (i * 7 + n) & 255);
    assert.equal(hex(sha256(data)), createHash("sha256").update(data).digest("hex"), `${n} bytes`);
    const key = data.slice(0, 32);
    assert.equal(hex(hmacSha256(key, data)), createHmac("sha256", key).update(data).digest("hex"), `${n} bytes`);
  }
});

test("both implementations of Ed25519 agree", async () => {
  const key = bytes("3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c"); // RFC 8032, test 2
  const signature = bytes("92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00");
  const changed = signature.slice();
  changed[40] ^= 1;
  for (const [name, message, given, want] of [["right", [0x72], signature, true], ["another message", [0x73], signature, false], ["another signature", [0x72], changed, false], ["too short", [0x72], signature.slice(1), false]]) {
    assert.equal(await verifyEd25519(key, given, Uint8Array.from(message)), want, name);
    assert.equal(verifyPortable(key, given, Uint8Array.from(message)), want, name);
  }
});

test("names", () => {
  assert.ok(vectors.names.length > 0);
  for (const { name, pollKey: key, nonce, nonceHash: hash, path } of vectors.names) {
    assert.equal(hex(pollKey(name)), key);
    assert.equal(hex(nonceHash(pollKey(name), bytes(nonce))), hash);
    assert.equal(resultPath(name), path);
  }
});

test("entries", async (t) => {
  const kinds = { add: 1, set: 2, modifier: 3, config: 4, begin: 5, reset: 6, close: 7, open: 8, erasure: 9, hide: 10, reveal: 11 };
  for (const { name, data } of vectors.entries) await t.test(name, () => {
    const { entry, salt } = parseLeaf(bytes(data));
    assert.equal(entry.kind, kinds[name.split(",")[0]]);
    if (name.includes("hidden")) assert.equal(hex(saltAt(Uint8Array.of(3, ...new Uint8Array(31)), 9)), hex(salt));
    assert.throws(() => parseLeaf(bytes(data + "00")));
    assert.throws(() => parseLeaf(bytes(data.slice(0, -2))));
  });
  const of = (name) => parseLeaf(bytes(vectors.entries.find((e) => e.name === name).data)).entry;
  const { value, times, voter, byStaff } = of("add");
  assert.deepEqual({ value, times, voter, byStaff }, { value: -128, times: 30, voter: 7, byStaff: false });
  assert.equal(of("modifier").add, -1n);
  assert.equal(of("config").settings.prompt, "<\u2028\"ü\\\n\x01😀>");
  assert.equal(of("config").settings.endsAt, 1_800_000_000n);
});

test("leaves of the log", async (t) => {
  for (const { name, data } of vectors.logLeaves) await t.test(name, () => {
    assert.equal(parseLogLeaf(bytes(data)).kind, name.split(/[ ,]/)[0]);
    assert.throws(() => parseLogLeaf(bytes(data + "00")));
    assert.throws(() => parseLogLeaf(bytes(data.slice(0, -2))));
  });
  const final = parseLogLeaf(bytes(vectors.logLeaves.find((l) => l.name === "poll, final").data));
  assert.equal(final.final, true);
  assert.equal(final.prev, 4);
  assert.equal(final.sums.sum, -256n);
  assert.equal(final.ballots.size, 3);
});

test("encodings without a meaning are refused", () => {
  for (const [kind, parse] of Object.entries({ entry: parseLeaf, logLeaf: parseLogLeaf })) {
    assert.ok(vectors.refused[kind].length > 20);
    for (const data of vectors.refused[kind]) assert.throws(() => parse(bytes(data)), `${kind} ${data}`);
  }
});

test("configurations in another form than that of RFC 8785 are refused", () => {
  const data = bytes(vectors.entries.find((e) => e.name === "config").data), head = data.slice(0, 40);
  const json = new TextDecoder().decode(data.slice(40));
  const parse = (text) => parseLeaf(Uint8Array.of(...head, ...new TextEncoder().encode(text)));
  parse(json);
  for (const [old, changed] of [
    ["{", "{ "], ['"disabled":false', '"disabled":0'], ['"version":"1"', '"version":1'], ['"version":"1"', '"version":"01"'], ['"version":"1"', '"version":"9223372036854775808"'],
    ['"disabled":false,', ""], ["}", ',"votesPerOption":"1"}'], ["}", ',"x":1}'], ['"always"', '"staff"'], ['"totalVotesPerUser":"1"', '"totalVotesPerUser":"1025"'],
    ["ü", "\\u00fc"], ["ü", "\\ud800"], ["ü", "x".repeat(33_000)],
  ]) {
    const text = old === "}" ? json.slice(0, -1) + changed : json.replace(old, changed);
    assert.notEqual(text, json, old);
    assert.throws(() => parse(text), changed);
  }
});

test("roots", () => {
  const tree = new Frontier();
  for (const { size, root } of vectors.roots) {
    while (tree.tree().size < size) tree.append(u64(tree.tree().size));
    assert.equal(hex(tree.tree().root), hex(fromBase64(root)), `${size} leaves`);
  }
});

test("polls", async (t) => {
  for (const p of vectors.polls) await t.test(p.name, () => {
    const fold = new Fold(), tree = new Frontier();
    for (const leaf of p.leaves) {
      fold.apply(bytes(leaf));
      tree.append(bytes(leaf));
    }
    assert.equal(hex(tree.tree().root), hex(fromBase64(p.root)));
    const ballots = [...fold.ballots()], sums = sumsOfBallots(ballots), total = { sums, root: treeOfBallots(fold, sums).root };
    fold.checkWeights();
    assert.deepEqual(fold.findings.list.map((f) => f.kind), p.findings ?? []);
    assert.equal(ballots.length, p.ballots);
    assert.equal(fold.ballotCount, p.ballots);
    assert.equal(hex(total.root), hex(fromBase64(p.ballotRoot)));
    assert.equal(hex(encodeSums(total.sums)), p.sumsData);
    assert.ok(equalSums(parseSums(bytes(p.sumsData)), total.sums));
    assert.ok(equalSums(sumsOfJSON(p.sums), total.sums));
    assert.equal(Object.keys(p.proofs).length, ballots.length);
    for (const [voter, proof] of Object.entries(p.proofs)) {
      const ballot = checkBallotProof(bytes(proof), Number(voter), ballots.length, total);
      assert.deepEqual(ballot, fold.ballotOf(Number(voter)));
      checkChangedProofs(bytes(proof), ballot, ballots.length, total);
    }
  });
});

// A changed byte, another voter, and another total are refused.
function checkChangedProofs(proof, ballot, n, total) {
  for (let i = 0; i < proof.length; i += 7) {
    const changed = proof.slice();
    changed[i] ^= 1;
    assert.throws(() => checkBallotProof(changed, ballot.voter, n, total), `byte ${i}`);
  }
  assert.throws(() => checkBallotProof(proof, ballot.voter + 1, n, total));
  assert.throws(() => checkBallotProof(proof, ballot.voter, n + 1, total));
  assert.throws(() => checkBallotProof(proof, ballot.voter, n, { ...total, sums: { ...total.sums, count: total.sums.count + 1n } }));
  assert.throws(() => checkBallotProof(Uint8Array.of(...proof, 0), ballot.voter, n, total));
}

test("sums out of bounds are refused", () => {
  const sums = (count, sum, squares, ...slots) => encodeSums({ count, sum, squares, slots });
  parseSums(sums(2n, -256n, 32768n, 1n, 1n));
  for (const [name, data] of Object.entries({
    "a negative count": sums(-1n, 0n, 0n), "a sum too large": sums(1n, 129n, 0n), "a sum too small": sums(1n, -129n, 0n), "squares too large": sums(1n, 0n, 16385n),
    "negative squares": sums(1n, 0n, -1n), "slots above the count": sums(1n, 0n, 0n, 1n, 1n), "a negative slot": sums(1n, 0n, 0n, 1n, -1n), "a count of 2^126": sums(2n ** 126n, 0n, 0n),
  })) assert.throws(() => parseSums(data), name);
  assert.throws(() => sumsOfBallots([{ voter: 2, weight: 2n ** 126n, choices: [{ value: 1, times: 1 }] }]));
});

test("numbers and large integers give the same ballot tree", () => {
  const ballots = Array.from({ length: 300 }, (_, i) => ({
    voter: 2 + i, weight: BigInt(i % 7 === 0 ? 2 ** 20 + i : i % 5), choices: i % 3 ? [{ value: i % 33, times: 1 }] : [{ value: i % 128 - 128, times: 30 }, { value: i % 2, times: 2 }],
  }));
  for (const n of [1, 2, 3, 7, 64, 255, 300]) {
    const some = ballots.slice(0, n), sums = sumsOfBallots(some);
    assert.equal(hex(hashSmall(some, sums.slots.length)), hex(hashLarge(some)), `${n} ballots`);
  }
});

test("a nonce is new once", () => {
  const seen = new NonceSet(), nonce = (i) => Uint8Array.from({ length: 16 }, (_, at) => (i + 1) >> (at % 4 * 8));
  for (const again of [false, true]) for (let i = 0; i < 3000; i++) assert.equal(seen.add(nonce(i)), !again, `${i}`);
  assert.equal(seen.add(new Uint8Array(16)), true);
  assert.equal(seen.add(new Uint8Array(16)), false);
});

test("receipts", async (t) => {
  for (const r of vectors.receipts) await t.test(r.name, async () => {
    const check = checkReceipt(r.text, { key: vectors.key, site: "" });
    if (r.recorded === "") {
      await assert.rejects(check);
      return;
    }
    const report = await check;
    assert.equal(report.recorded.answer, r.recorded);
    assert.deepEqual(report.findings.map((f) => f.kind), r.findings ?? []);
  });
});

test("verifier keys", async () => {
  const honest = vectors.receipts[0].text, check = (key) => checkReceipt(honest, { key, site: "" });
  assert.equal((await check([vectors.key, vectors.rotatedKey])).recorded.answer, "yes");
  assert.deepEqual((await check(vectors.rotatedKey)).findings.map((f) => f.kind), ["signature"]);
  assert.throws(() => new Keys([]));
  for (const [old, changed] of [["8398", "8399"], ["0123abcd", "0123abc"], ["+AY", "+AZ"], ["8398a5f5", "8398A5F5"], ["Rtn", "Rtn="]]) {
    assert.ok(vectors.key.includes(old), old);
    await assert.rejects(check(vectors.key.replace(old, changed)), changed);
  }
});

// The kinds and sentences are those of api/verifiable.
test("sentences", async () => {
  const source = await readSource("finding.go");
  const kinds = Object.fromEntries([...source.matchAll(/(Found\w+)\s+FindingKind = "([^"]+)"/g)].map(([, name, kind]) => [name, kind]));
  const wanted = Object.fromEntries([...source.matchAll(/(Found\w+):\s+("(?:[^"\\]|\\.)+"),/g)].map(([, name, sentence]) => [kinds[name], JSON.parse(sentence)]));
  assert.ok(Object.keys(wanted).length > 30);
  assert.deepEqual({ ...sentences }, wanted);
});
