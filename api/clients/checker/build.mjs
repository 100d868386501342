// Writes dist/acclaim-checker.html, one file with its style and script, and prints its digest. The
// script is not minified, so that it can be read. The same sources give the same file. Beside it stands
// dist/acclaim-checker.js, the module in one file, for pages that are built without a bundler.

import { createHash } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";

import { build } from "esbuild";

process.chdir(import.meta.dirname); // names of files are in comments of the bundle

async function bundle(entry, plugins = [], format = "iife") {
  const { outputFiles } = await build({ entryPoints: [entry], bundle: true, write: false, format, target: "es2022", charset: "utf8", plugins });
  return outputFiles[0].text;
}

// worker is the plugin for the import of the worker's script as a text.
const worker = {
  name: "worker",
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^worker:script$/ }, () => ({ path: "script", namespace: "worker" }));
    onLoad({ filter: /.*/, namespace: "worker" }, async () => ({ contents: await bundle("page/worker.ts"), loader: "text" }));
  },
};

const hashOf = (text) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;

const style = await readFile("page/page.css", "utf8");
const script = (await bundle("page/page.ts", [worker])).replaceAll("</script", "<\\/script");
const policy = `default-src 'none'; script-src ${hashOf(script)}; style-src ${hashOf(style)}; worker-src blob:; connect-src http: https:; base-uri 'none'; form-action 'none'`;
const parts = { policy, style, script };
const html = (await readFile("page/page.html", "utf8")).replace(/\{\{(policy|style|script)\}\}/g, (_, name) => parts[name]);
await writeFile("dist/acclaim-checker.html", html);
await writeFile("dist/acclaim-checker.js", await bundle("src/index.ts", [], "esm"));
console.log(`${createHash("sha256").update(html).digest("hex")}  dist/acclaim-checker.html`);
