// Builds the extension: the folder dist, and extension.zip for the platform. Both have the pages at the
// top, and scripts and styles in files beside them: the platform runs none that are inside a page.

import { cp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import path from "node:path";

import { build } from "esbuild";
import { zipSync } from "fflate";

const folder = (name) => path.join(import.meta.dirname, name);

await rm(folder("dist"), { recursive: true, force: true });
await build({
  entryPoints: { viewer: folder("src/viewer.tsx"), desk: folder("src/desk.tsx"), config: folder("src/config.tsx") },
  outdir: folder("dist"), bundle: true, splitting: true, format: "esm", minify: true, target: "es2022", legalComments: "none", charset: "utf8",
  jsx: "automatic", jsxImportSource: "preact",
});
await cp(folder("src/style.css"), folder("dist/style.css"));
const page = await readFile(folder("src/page.html"), "utf8");
for (const [view, title, script] of [
  ["panel", "Poll", "viewer"], ["video_overlay", "Poll", "viewer"], ["mobile", "Poll", "viewer"],
  ["live_config", "Polls", "desk"], ["config", "Settings", "config"],
]) {
  const parts = { view, title, script };
  await writeFile(folder(`dist/${view}.html`), page.replace(/\{\{(\w+)\}\}/g, (_, name) => parts[name]));
}

const files = {};
for (const name of (await readdir(folder("dist"))).sort()) files[name] = await readFile(folder(`dist/${name}`));
const archive = zipSync(files, { level: 9, mtime: "1980-01-02" }); // the same files make the same archive
await writeFile(folder("extension.zip"), archive);
console.log(`extension.zip: ${Object.keys(files).length} files, ${(archive.length / 1024).toFixed(1)} KB`);
