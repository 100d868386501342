// The rig with an extension in it, and what axe finds in its views.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";

import { browser, lab } from "./pages.mjs";

// inRig opens the rig with an extension. The rig's own page must not complain.
export async function inRig(t, folder, options) {
  const program = await lab.rig(folder, options);
  return { ...program, ...await openRig(t, program.rig, options) };
}

// openRig opens a rig in a window of its own, which shares nothing with others.
export async function openRig(t, address, options) {
  const page = await (options?.context ?? browser).newPage({ viewport: { width: 1400, height: options?.height ?? 1000 } });
  const complaints = [];
  page.on("pageerror", (e) => complaints.push(e.message));
  page.on("console", (m) => { if (/Content Security Policy/.test(m.text()) && !options?.refused) complaints.push(m.text()); });
  t.after(async () => {
    await page.close();
    assert.deepEqual(complaints, []);
  });
  if (options?.prepare) await options.prepare(page);
  await page.goto(address);
  await page.locator(".view").first().waitFor();
  const view = (title) => page.locator(".view").filter({ has: page.locator("h2", { hasText: title }) });
  const frame = (title) => view(title).frameLocator("iframe");
  return { page, view, frame };
}

const axe = await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

// violations returns what axe finds in a page or a frame, one line for each element.
export async function violations(frame) {
  await frame.evaluate(axe);
  const { violations } = await frame.evaluate(() => axe.run(document, { resultTypes: ["violations"] }));
  return violations.flatMap(({ id, nodes }) => nodes.map((node) => `${id}: ${node.target} ${node.failureSummary.replace(/\s+/g, " ")}`));
}
