// The texts of all languages have the same parts to fill in. That they have the same names, the
// compiler checks.

import assert from "node:assert/strict";
import { readFile, readdir } from "node:fs/promises";
import path from "node:path";
import { test } from "node:test";

import { transform } from "esbuild";

const folder = path.join(import.meta.dirname, "../src/texts");

async function readTexts(file) {
  const { code } = await transform(await readFile(path.join(folder, file), "utf8"), { loader: "ts" });
  return (await import(`data:text/javascript,${encodeURIComponent(code)}`)).default;
}

const parts = (text) => [...new Set(Object.values(typeof text === "string" ? [text] : text).flatMap((form) => form.match(/\{\w+\}/g) ?? []))].sort();

test("texts of other languages have the parts of the English ones", async () => {
  const english = await readTexts("en.ts"), others = (await readdir(folder)).filter((file) => file !== "en.ts");
  assert.ok(others.length >= 3);
  for (const file of others) {
    const texts = await readTexts(file);
    for (const [name, text] of Object.entries(english)) assert.deepEqual(parts(texts[name]), parts(text), `${file}: ${name}`);
  }
});

test("every text is used", async () => {
  const sources = await Promise.all((await readdir(path.join(folder, ".."), { withFileTypes: true }))
    .filter((entry) => entry.isFile()).map((entry) => readFile(path.join(folder, "..", entry.name), "utf8")));
  const unused = Object.keys(await readTexts("en.ts")).filter((name) => !["pending", "active", "expired"].includes(name) && !sources.some((source) => source.includes(`"${name}"`)));
  assert.deepEqual(unused, []);
});
