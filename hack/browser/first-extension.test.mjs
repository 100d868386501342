// The extension of the tutorial, services/docs/first-extension.md, in the browser of two viewers.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import path from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";

import { lab, open, wanted } from "./pages.mjs";
import { productionToken, root, sign } from "./program.mjs";

const folder = path.join(root, "config/samples/first-extension");

// serveFolder serves the page at a port of localhost, with the address of the API in its script.
async function serveFolder(t, origin) {
  const page = await readFile(path.join(folder, "index.html"), "utf8");
  const script = (await readFile(path.join(folder, "vote.js"), "utf8")).replace("http://127.0.0.1:8080", origin);
  const scripts = { "/vote.js": script, "/check.js": await readFile(path.join(folder, "check.js")), "/acclaim-checker.js": await readFile(path.join(root, "bin/acclaim-checker.js")) };
  const server = createServer(({ url }, answer) => {
    answer.setHeader("Content-Type", scripts[url] ? "text/javascript" : "text/html").end(scripts[url] ?? page);
  }).listen(0, "localhost");
  await once(server, "listening");
  t.after(() => server.close());
  return `http://localhost:${server.address().port}/`;
}

async function configure(origin, config, method = "POST") {
  const answer = await fetch(origin + "/v1/vote_config", {
    method, headers: { Authorization: await productionToken(lab, "backend") }, body: JSON.stringify({ id: "lunch", config }),
  });
  assert.equal(answer.status, 200, await answer.text());
}

// openAs opens the page as a viewer.
async function openAs(t, address, opaque) {
  const credential = `sample-extension ${sign({ role: "viewer", channel_id: "1", opaque_user_id: opaque })}`;
  const page = await open(t, "about:blank");
  await page.route(/extension-files/, (route) => route.abort()); // the platform's helper, which needs the platform
  await page.goto(`${address}#${encodeURIComponent(credential)}`);
  await wanted(page, "h1", "What is for lunch?");
  return page;
}

test("two viewers of the first extension vote and see each other's vote", async (t) => {
  const { origin } = await lab.serve();
  const config = { prompt: "What is for lunch?", options: ["Soup", "Salad"] };
  await configure(origin, config);
  const address = await serveFolder(t, origin);
  const [one, other] = [await openAs(t, address, "U1"), await openAs(t, address, "U2")];
  await one.getByRole("button", { name: "Soup 0" }).click();
  await wanted(one, "#message", "Your vote is counted.");
  await other.getByRole("button", { name: "Salad 0" }).click();
  for (const page of [one, other]) {
    await wanted(page, "button", "Soup 1");
    await wanted(page, "button", "Salad 1");
  }
  await configure(origin, { ...config, disabled: true });
  await one.getByRole("button", { name: "Salad 1" }).click();
  await wanted(one, "#message", "poll is closed");
});

test("a viewer of the first extension checks a vote", async (t) => {
  const { origin } = await lab.serve({ data: "first-checked" });
  await configure(origin, { prompt: "What is for lunch?", options: ["Soup", "Salad"], verifiable: true });
  const page = await openAs(t, await serveFolder(t, origin), "U1"), button = page.getByRole("button", { name: "Check my vote" });
  assert.equal(await button.isVisible(), false);
  await page.getByRole("button", { name: "Salad 0" }).click();
  // The server signs a vote, and a final result, within some two seconds.
  const check = async (verdict) => {
    for (let shown = ""; !shown.includes(verdict);) {
      await button.click();
      await page.waitForFunction((before) => document.querySelector("#verdicts").textContent !== before, shown, { timeout: 2000 }).catch(() => {});
      shown = await page.locator("#verdicts").innerText();
    }
  };
  await check("Is your vote recorded? Yes.");
  assert.match(await page.innerText("#verdicts"), /Is it counted\? Not known\.[^]*Your vote: "Salad" \(1\)/);
  assert.match(await page.getAttribute("#receipt", "href"), /^blob:/);
  await configure(origin, { endsAt: -1 }, "PATCH");
  await check("Is it counted? Yes.");
});

test("the token that the first extension's backend signs reads the log", async () => {
  const { origin } = await lab.serve({ data: "signed" });
  const env = { ...process.env, SECRET: "c2FtcGxlLXNlY3JldC10aGF0LWV2ZXJ5b25lLWtub3dz" }; // of config/extensions.yaml
  const { stdout } = await promisify(execFile)(process.execPath, [path.join(folder, "sign.mjs"), "sample-extension", "1"], { env });
  const answer = await fetch(origin + "/v1/vote_logs?id=lunch", { headers: { Authorization: stdout.trim() } });
  assert.equal(answer.status, 200, await answer.text());
});
