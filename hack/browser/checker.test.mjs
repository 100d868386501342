// The checker of votes, opened from disk, with sites on another host.

import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdir, readFile } from "node:fs/promises";
import { createServer } from "node:http";
import path from "node:path";
import { after, before, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { pathToFileURL } from "node:url";

import { chromium } from "playwright-core";

import { generateSite } from "../../api/clients/checker/test/generate.mjs";
import { Lab, root, sign } from "./program.mjs";

const testdata = path.join(root, "api/verifiable/testdata");
const read = (name) => readFile(path.join(testdata, name), "utf8");
const address = pathToFileURL(path.join(root, "bin/acclaim-checker.html")).href;
const [receipt, key, policy] = await Promise.all(["alice.acclaim-receipt", "vkey", "policy"].map(read));

const screenshots = process.env.ACCLAIM_SCREENSHOTS ?? path.join(import.meta.dirname, "screenshots");
let browser;

before(async () => {
  await mkdir(screenshots, { recursive: true });
  browser = await chromium.launch({ executablePath: process.env.ACCLAIM_CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });
});

after(() => browser?.close());

// publish serves files by their paths, and returns the address.
async function publish(t, files) {
  const server = createServer(async (request, answer) => {
    const data = await files(decodeURIComponent(request.url.slice(1)));
    answer.writeHead(data ? 200 : 404, { "Access-Control-Allow-Origin": "*" }).end(data);
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${server.address().port}`;
}

const committed = (name) => readFile(path.join(testdata, "site", name)).catch(() => undefined);

const picture = (page, name) => page.screenshot({ path: path.join(screenshots, `${name}.png`), fullPage: true, animations: "disabled" });

async function open(t) {
  const page = await browser.newPage({ viewport: { width: 800, height: 1100 } });
  const complaints = [];
  page.on("pageerror", (e) => complaints.push(e.message));
  page.on("console", (m) => { if (/Content Security Policy/.test(m.text())) complaints.push(m.text()); });
  t.after(async () => {
    await page.close();
    assert.deepEqual(complaints, []);
  });
  await page.goto(address);
  return page;
}

// check fills the form in and returns the verdicts, once there are some.
async function check(page, fields) {
  for (const [name, value] of Object.entries(fields)) {
    if (["policy", "monitor"].includes(name)) await page.locator("details").evaluate((details) => { details.open = true; });
    await page.fill(`#${name}`, value);
  }
  await page.click("#check");
  await page.locator("#check:enabled").waitFor({ timeout: 300_000 }); // the recount is over
  return page.locator("#verdicts li").evaluateAll((rows) => rows.map((row) => row.dataset.answer));
}

test("a viewer checks a vote with a file from disk", async (t) => {
  const site = await publish(t, committed), page = await open(t);
  await page.setInputFiles("#file", path.join(testdata, "alice.acclaim-receipt"));
  await page.locator("#named:not([hidden])").waitFor();
  assert.equal(await page.inputValue("#site"), "https://example.com");
  assert.deepEqual(await check(page, { key, site, policy }), ["yes", "yes", "unknown"]);
  assert.match(await page.innerText("#vote"), /What is for lunch\?[^]*"Salad" \(1\)[^]*Weight\s+1/);
  assert.match(await page.innerText("#recount"), /3 votes of 3 voters/);
  await picture(page, "checker");

  const taken = await page.evaluate(() => new Promise((resolve) => {
    const begun = performance.now();
    new MutationObserver(() => { if (!document.querySelector("#report").hidden) resolve(performance.now() - begun); }).observe(document.querySelector("#report"), { attributes: true });
    document.querySelector("#check").click();
  }));
  t.diagnostic(`own vote checked in ${taken.toFixed(0)} ms`);
});

test("a vote cast on the program is recorded, and after the close it is counted", async (t) => {
  const lab = await Lab.open();
  t.after(() => lab.close());
  const { origin } = await lab.serve();
  const ask = (credential, method, route, body) =>
    fetch(`${origin}/v1${route}`, { method, headers: { Authorization: `sample-extension ${sign({ channel_id: "1", ...credential })}` }, body: body && JSON.stringify(body) });
  const broadcaster = { role: "broadcaster", opaque_user_id: "B" }, viewer = { role: "viewer", opaque_user_id: "U1" };
  const configure = (method, config) => ask(broadcaster, method, "/vote_config", { id: "lunch", config });
  assert.equal((await configure("POST", { prompt: "What is for lunch?", options: ["Tea", "Coffee"], verifiable: true })).status, 200);
  const { version } = await (await ask(viewer, "GET", "/poll?id=lunch")).json();
  const nonce = randomBytes(16), nonceHash = hashNonce(["sample-extension", "1", "lunch"], nonce);
  assert.equal((await ask(viewer, "POST", "/vote?id=lunch", { value: 1, version, nonceHash })).status, 200);
  let answer = await ask(viewer, "GET", "/receipt?id=lunch");
  for (; answer.status === 404; answer = await ask(viewer, "GET", "/receipt?id=lunch")) await pause(200);
  const receipt = (await answer.text()).replace(/\n---/, `\nnonce ${nonce.toString("base64")}\n---`);
  const key = await (await fetch(`${origin}/log/vkeys`)).text(), page = await open(t);
  assert.deepEqual(await check(page, { receipt, key, site: origin }), ["yes", "unknown", "unknown"]);
  assert.match(await page.innerText("#vote"), /What is for lunch\?[^]*"Coffee" \(1\)/);
  assert.equal((await configure("PATCH", { endsAt: -1 })).status, 200);
  for (let verdicts = []; verdicts[1] !== "yes";) {
    verdicts = await check(page, { receipt, key, site: origin });
    assert.notEqual(verdicts[1], "no", await page.innerText("#report"));
  }
  assert.match(await page.innerText("#result"), /Coffee\s+1[^]*Not counted again/);
});

// hashNonce is the digest of a viewer's secret that the vote carries.
function hashNonce(name, nonce) {
  const poll = createHash("sha256").update("acclaim poll v1\n");
  for (const part of name) poll.update(Buffer.from([part.length >> 8, part.length & 255])).update(part);
  return createHash("sha256").update("acclaim nonce v1\n").update(poll.digest()).update(nonce).digest().subarray(0, 16).toString("base64");
}

test("a changed result is refused with its sentence", async (t) => {
  const site = await publish(t, async (name) => {
    const data = await committed(name);
    return name.endsWith("result.json") ? Buffer.from(data.toString().replace('"count":3,', '"count":4,')) : data;
  });
  const page = await open(t);
  assert.deepEqual(await check(page, { receipt, key, site }), ["yes", "no", "no"]);
  assert.match(await page.innerText("#findings"), /The result on display is not the signed one\./);
  assert.equal(await page.isVisible("#result"), false);
  await picture(page, "checker-refused");
});

test("what is missing is named, and what is no receipt is refused", async (t) => {
  const page = await open(t);
  assert.deepEqual(await check(page, { receipt, key, site: await publish(t, async () => undefined) }), ["yes", "unknown", "unknown"]);
  assert.match(await page.innerText("#missing"), /log\/checkpoint: the site has no such file/);
  assert.deepEqual(await check(page, { receipt, key, site: "" }), ["yes", "unknown", "unknown"]);
  assert.equal(await page.isVisible("#missing"), false);
  await check(page, { receipt: receipt.replace("v1", "v2"), key });
  assert.match(await page.innerText("#refused"), /no acclaim-receipt\/v1/);
});

test("a recount of many votes shows its progress, and leaves the page usable", async (t) => {
  const votes = Number(process.env.ACCLAIM_CHECKER_VOTES ?? 20_000);
  const many = generateSite(votes), site = await publish(t, async (name) => many.files(name)), page = await open(t);
  await page.evaluate(() => {
    window.shown = 0;
    new MutationObserver(() => window.shown++).observe(document.querySelector("#progress"), { attributeFilter: ["value"] });
  });
  const begun = performance.now();
  assert.deepEqual(await check(page, { receipt: many.receipt, key: many.key, site }), ["yes", "yes", "unknown"]);
  t.diagnostic(`${votes} votes read and counted again in ${((performance.now() - begun) / 1000).toFixed(2)} s`);
  assert.ok(await page.evaluate(() => window.shown) > 1);
});
