// Whole sites: the committed one, and those of lying servers with the verdicts of api/verifiable.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import path from "node:path";
import { after, before, test } from "node:test";

import { addNonce, checkReceipt, makeSecret } from "../dist/src/index.js";
import { TreeFiles } from "../dist/src/source.js";
import { Frontier, leafHash } from "../dist/src/tree.js";
import { fromBase64, read, testdata, vectors } from "./shared.mjs";

const lists = JSON.parse(await read("sites.json"));
const alice = await read("alice.acclaim-receipt"), key = await read("vkey"), policy = await read("policy");

let server, site;

before(async () => {
  server = createServer(async (request, answer) => {
    const file = await readFile(path.join(testdata, "site", decodeURIComponent(request.url))).catch(() => undefined);
    answer.writeHead(file ? 200 : 404).end(file);
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  site = `http://127.0.0.1:${server.address().port}/`;
});

after(() => server.close());

// serve returns a fetch that serves files, by their paths.
function serve(files) {
  return async (address) => {
    const content = files[new URL(address).pathname.slice(1)];
    return content === undefined ? new Response("", { status: 404 }) : new Response(fromBase64(content));
  };
}

test("the committed site, served", async () => {
  const report = await checkReceipt(alice, { key, site, policy });
  assert.deepEqual(report.findings, []);
  assert.equal(report.missing, undefined);
  assert.equal(report.question, "What is for lunch?");
  assert.equal(report.vote, '"Salad" (1)');
  assert.equal(report.value, 1);
  assert.equal(report.weight, 1n);
  assert.deepEqual([report.recorded.answer, report.counted.answer, report.same.answer], ["yes", "yes", "unknown"]);
  assert.deepEqual(report.result, [{ option: "Soup", count: 1n }, { option: "Salad", count: 1n }, { option: "Cake", count: 1n }]);
  assert.deepEqual(report.recount, { entries: 6, votes: 3, byStaff: 0, noNonce: 0, erasures: 0, ballots: 3 });
});

test("a receipt as bytes; without a site; with the site of its log", async () => {
  const offline = await checkReceipt(new TextEncoder().encode(alice), { key, site: "" });
  assert.deepEqual([offline.recorded.answer, offline.counted], ["yes", { answer: "unknown", text: "Not checked: this needs the address of the site." }]);
  const asked = [];
  await checkReceipt(alice, { key, fetch: async (address) => {
    asked.push(address);
    return new Response("", { status: 404 });
  } });
  assert.deepEqual(asked.toSorted(), ["https://example.com/log/checkpoint", "https://example.com/public/sample/1/lunch/result.json"]);
});

test("the proof of the own ballot is shown before the recount", async () => {
  const seen = [];
  await checkReceipt(alice, { key, site, beforeRecount: ({ counted, recount }) => seen.push([counted.answer, recount]), progress: () => seen.push("progress") });
  assert.deepEqual(seen, [["yes", undefined], "progress", "progress"]);
});

test("without a recount, the proof of the own ballot decides", async () => {
  const quick = await checkReceipt(alice, { key, site, noRecount: true });
  assert.deepEqual([quick.counted, quick.recount, quick.missing], [{ answer: "yes", text: "Your vote is in the final result, once." }, undefined, undefined]);
  const withoutProofs = async (address) => (address.includes("/ballots/") ? new Response("", { status: 404 }) : fetch(address));
  const unproven = await checkReceipt(alice, { key, site, noRecount: true, fetch: withoutProofs });
  assert.equal(unproven.counted.answer, "unknown");
});

test("a page draws a secret, and adds it to the receipt", async () => {
  const name = { client: "sample", channel: "1", poll: "lunch" }, [one, other] = [makeSecret(name), makeSecret(name)];
  assert.notEqual(one.nonce, other.nonce);
  const known = /^nonce (.*)\n/m.exec(alice);
  const bare = alice.replace(known[0], "");
  assert.equal(addNonce(bare, known[1]), alice);
  const report = await checkReceipt(addNonce(bare, one.nonce), { key, site: "" });
  assert.deepEqual(report.findings.map((f) => f.kind), ["other-vote"]);
  assert.throws(() => addNonce("no receipt", one.nonce));
});

test("an error of the site is no verdict", async () => {
  for (const [name, fetch, want] of [
    ["refuses", async () => new Response("", { status: 503 }), /log\/checkpoint: the site answers 503/],
    ["cannot be reached", async () => { throw new TypeError("no connection"); }, /log\/checkpoint: no connection/],
    ["withholds", async () => new Response("", { status: 404, headers: { "acclaim-withheld": "small" } }), /too few voters/],
  ]) {
    const report = await checkReceipt(alice, { key, site, fetch });
    assert.match(report.missing, want, name);
    assert.deepEqual([report.recorded.answer, report.counted.answer, report.findings], ["yes", "unknown", []], name);
  }
});

test("a policy or a monitor's state that is none is refused", async () => {
  const check = (options) => checkReceipt(alice, { key, site: "", ...options });
  for (const changed of ["", "quorum w\n", policy + "quorum w\n", policy.replace("43de", "43df"), policy + "witness v" + policy.slice("witness w".length), policy + "group g 2 w\n", policy + "group g any none\n"]) {
    if (changed !== "") await assert.rejects(check({ policy: changed }), changed);
  }
  const monitor = { keys: [key.trim()], log: { size: 3, hashes: [] }, polls: {}, findings: [] };
  for (const changed of ["x", "{}", JSON.stringify(monitor), JSON.stringify({ ...monitor, log: { size: 0, hashes: null }, keys: [vectors.rotatedKey] })]) {
    await assert.rejects(check({ monitor: changed }), changed);
  }
  await check({ monitor: JSON.stringify({ ...monitor, log: { size: 0, hashes: null } }) });
});

test("sites", async (t) => {
  assert.ok(lists.length > 30);
  for (const c of lists) await t.test(c.name, async () => {
    const options = { key: vectors.key, site: "http://site.example", fetch: serve(c.files) };
    if (c.policy) options.policy = c.policy;
    if (c.monitor) options.monitor = JSON.stringify(c.monitor);
    const report = await checkReceipt(c.receipt, options);
    assert.deepEqual(report.findings.map(({ kind, cases }) => ({ kind, cases })), c.findings.map(({ kind, cases }) => ({ kind, cases })));
    assert.equal(report.vote, c.vote);
    assert.deepEqual([report.recorded, report.counted], [c.recorded, c.counted]);
    assert.equal(report.same.answer, c.same.answer);
    if (!c.same.text.startsWith("The monitor found")) assert.equal(report.same.text, c.same.text);
    assert.equal(report.missing !== undefined, c.missing ?? false, report.missing);
  });
});

test("other sums in result.json than the signed ones", async () => {
  const { files, receipt } = lists.find((c) => c.name === "nothing"), name = "public/sample/1/lunch/result.json";
  const changed = Buffer.from(files[name], "base64").toString().replace('"count":"3"', '"count":"4"');
  const report = await checkReceipt(receipt, { key: vectors.key, site: "http://site.example", fetch: serve({ ...files, [name]: Buffer.from(changed).toString("base64") }) });
  assert.deepEqual([report.counted.answer, report.findings.map((f) => f.kind)], ["no", ["shown-result-differs"]]);
});

// Tiles have to lead to both roots: those of the older tree alone vouch for no newer one.
test("a newer tree continues an older one by its own tiles only", async () => {
  const treeOf = (leaves) => {
    const frontier = new Frontier();
    for (const leaf of leaves) frontier.append(Uint8Array.of(leaf));
    return frontier.tree();
  };
  for (let size = 2; size < 20; size++) for (let older = 1; older < size; older++) {
    const leaves = Array.from({ length: size }, (_, i) => i), tile = Buffer.concat(leaves.map((leaf) => leafHash(Uint8Array.of(leaf))));
    const files = new TreeFiles({ read: async () => new Uint8Array(tile) }, "log/");
    const [old, now, forked] = [treeOf(leaves.slice(0, older)), treeOf(leaves), treeOf([99, ...leaves.slice(1)])];
    assert.deepEqual([await files.contains(now, old), await files.contains(forked, old), await files.contains(now, treeOf([99, ...leaves.slice(1, older)]))], [true, false, false], `${older} of ${size}`);
  }
});

// No file of a site may be changed without a finding, but for those parts that nothing has signed.
test("each file of a site matters", async () => {
  const honest = lists.find((c) => c.name === "nothing");
  for (const name of Object.keys(honest.files).filter((name) => !name.includes("/t/") || !name.endsWith("checkpoint"))) {
    const content = fromBase64(honest.files[name]);
    content[Math.floor(content.length / 2)] ^= 1;
    const files = { ...honest.files, [name]: Buffer.from(content).toString("base64") };
    const report = await checkReceipt(honest.receipt, { key: vectors.key, site: "http://site.example", fetch: serve(files) });
    const used = !name.startsWith("log/tile/entries");
    assert.equal(report.counted.answer === "yes", !used, `${name}: ${report.counted.text}`);
  }
});
