// The archive that goes to the platform: its layout, its size, and what the platform's content
// security policy allows.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { test } from "node:test";

import { strFromU8, unzipSync } from "fflate";

const maxSize = 60 * 1024; // bytes of the archive
const archive = await readFile(path.join(import.meta.dirname, "../extension.zip"));
const files = unzipSync(archive);
const texts = Object.fromEntries(Object.entries(files).map(([name, content]) => [name, strFromU8(content)]));
const named = (ending) => Object.keys(texts).filter((name) => name.endsWith(ending));
const helper = "https://extension-files.twitch.tv/helper/v1/twitch-ext.min.js";

test("the archive is small", () => {
  assert.ok(archive.length <= maxSize, `it has ${archive.length} bytes`);
});

test("the archive has the platform's views at its top, and nothing that is not used", () => {
  assert.deepEqual(named(".html").sort(), ["config.html", "live_config.html", "mobile.html", "panel.html", "video_overlay.html"]);
  assert.deepEqual(Object.keys(texts).filter((name) => !/^[\w-]+\.(html|css|js)$/.test(name)), []);
});

test("pages have neither scripts nor handlers inside, and load the helper and files of the archive", () => {
  for (const name of named(".html")) {
    const page = texts[name];
    assert.deepEqual([...page.matchAll(/<script[^>]*>([^<]+)/g)].map((m) => m[1].trim()).filter(Boolean), [], `${name}: a script inside`);
    assert.doesNotMatch(page, /\son\w+=|<style|\sstyle=|javascript:/, name);
    const sources = [...page.matchAll(/\s(?:src|href)="([^"]*)"/g)].map((m) => m[1]);
    assert.ok(sources.includes(helper), `${name} does not load the helper`);
    assert.deepEqual(sources.filter((source) => source !== helper && !texts[source]), [], `${name}: not in the archive`);
  }
});

test("scripts make no code of text, and load files of the archive alone", () => {
  for (const name of named(".js")) {
    const forbidden = texts[name].match(/\beval\(|\bFunction\(|document\.write|createElement\(["']script|\bimport\((?!"[^"]+"\))/);
    assert.equal(forbidden?.[0], undefined, name);
    const imported = [...texts[name].matchAll(/(?:from|import)\s*\(?"([^"]+)"/g)].map((m) => m[1]);
    assert.deepEqual(imported.filter((file) => !files[file.replace(/^\.\//, "")]), [], name);
  }
});

test("styles and scripts name no other server", () => {
  const known = ["http://127.0.0.1:8080", "http://www.w3.org"]; // the backend of a developer; names of XML
  for (const name of [...named(".js"), ...named(".css")]) {
    const addresses = [...texts[name].matchAll(/https?:\/\/[\w.:-]+/g)].map((m) => m[0]);
    assert.deepEqual(addresses.filter((address) => !known.includes(address)), [], name);
  }
});
