// A browser and a lab for the tests of one file, and pages in it. Screenshots are left in
// the folder that ACCLAIM_SCREENSHOTS names, or in hack/browser/screenshots: look at them
// after a change of the pages.

import assert from "node:assert/strict";
import { mkdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { after, before } from "node:test";

import { chromium } from "playwright-core";

import { Lab } from "./program.mjs";

const screenshots = process.env.ACCLAIM_SCREENSHOTS ?? path.join(import.meta.dirname, "screenshots");
export let lab, browser;

before(async () => {
  lab = await Lab.open();
  browser = await chromium.launch({ executablePath: process.env.ACCLAIM_CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });
  await mkdir(screenshots, { recursive: true });
});

after(async () => {
  await browser?.close();
  await lab?.close();
});

// open opens a page that must not complain, and takes a picture of it when asked.
export async function open(t, address, options = {}) {
  const page = await browser.newPage({ viewport: { width: 900, height: 420 }, ...options });
  const complaints = [];
  page.on("pageerror", (e) => complaints.push(e.message));
  page.on("dialog", (d) => { complaints.push(d.message()); d.dismiss(); });
  page.on("response", (r) => { if (r.status() === 403 && page.url().includes("/live/?")) complaints.push("asked for what its credential may not have: " + r.url()); });
  page.on("console", (m) => { if (/Content Security Policy/.test(m.text())) complaints.push(m.text()); });
  t.after(async () => {
    await page.close();
    assert.deepEqual(complaints, []);
  });
  await page.addInitScript(addContrast);
  await page.goto(address);
  page.picture = (name, how = { omitBackground: true }) => picture(page, name, how);
  return page;
}

export const picture = (page, name, how) => page.screenshot({ path: path.join(screenshots, name + ".png"), animations: "disabled", ...how });

// cornerOf returns the colour, as [r, g, b], of an element near its top left, as it is on the screen.
export async function cornerOf(page, element) {
  const shot = (await element.screenshot()).toString("base64");
  return page.evaluate(async (shot) => {
    const canvas = document.createElement("canvas").getContext("2d");
    canvas.drawImage(await createImageBitmap(new Blob([Uint8Array.from(atob(shot), (c) => c.charCodeAt(0))])), 0, 0);
    return [...canvas.getImageData(2, 2, 1, 1).data].slice(0, 3);
  }, shot);
}

// keep keeps a picture that a page has made.
export const keep = (name, content) => writeFile(path.join(screenshots, name + ".png"), content);

// wanted waits until an element says something.
export const wanted = (scope, selector, text) => scope.locator(selector).filter({ hasText: text }).waitFor();

// addContrast runs in the page, and gives it contrast: that of a text with what is behind it,
// colours from the back to the front, as WCAG 2 defines it. Text needs 4.5.
function addContrast() {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const light = (...colours) => {
    canvas.clearRect(0, 0, 1, 1);
    for (const colour of colours) { canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1); }
    return [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3).map((v) => v / 255)
      .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)).reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  };
  window.contrast = (text, ...behind) => {
    const [a, b] = [light(...behind, text), light(...behind)];
    return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  };
}

// faintTexts runs in the page: texts whose contrast with what is behind them is below 4.5.
export function faintTexts() {
  const faint = [];
  for (const e of document.querySelectorAll("h1, h2, h3, p, label, button, li, bdi, span, td, th, summary, small, a, code, dt, dd, input, select, textarea")) {
    if (!e.checkVisibility() || e.disabled || e.type === "range" || !(e.textContent.trim() || e.value)) continue;
    const behind = [];
    for (let at = e; at; at = at.parentElement) behind.unshift(getComputedStyle(at).backgroundColor);
    const ratio = contrast(getComputedStyle(e).color, ...behind);
    if (ratio < 4.5) faint.push(`${e.tagName} ${e.textContent.slice(0, 20)}: ${ratio.toFixed(2)}`);
  }
  return faint;
}

// faintGraphics runs in the page: lines of charts and keys of legends whose contrast with what
// is behind them is below 3.
export function faintGraphics() {
  const faint = [];
  for (const e of document.querySelectorAll("svg line, svg polyline, .key")) {
    const style = getComputedStyle(e), behind = [];
    for (let at = e.parentElement; at; at = at.parentElement) behind.unshift(getComputedStyle(at).backgroundColor);
    const ratio = contrast(e.matches(".key") ? style.backgroundColor : style.stroke, ...behind);
    if (!(ratio >= 3)) faint.push(`${e.getAttribute("class")}: ${ratio.toFixed(2)}`);
  }
  return faint;
}

// pollTexts are the texts of an overlay that shows a poll with a leader, for readable.
export const pollTexts = {
  "h1#title": [], "#total": [], "[data-leads=true] .label": [".option", "[data-leads=true] .bar"], "[data-leads=false] .label": [".option", "[data-leads=false] .bar"], ".option .figure": [".option"],
};

// colours are those of the overlay to measure contrast with.
export const colours = ["", "ffee00", "ffffff", "000000", "d6336c"].flatMap((accent) => [{ theme: "dark", accent }, { theme: "light", accent }]);

// readable fails unless each text of an overlay can be read, over a white scene and a black
// one. Of each selector, surfaces has the selectors of what is between the plate and it.
export async function readable(page, surfaces, name) {
  const ratios = await page.evaluate((surfaces) => {
    const colour = (selector, property) => getComputedStyle(document.querySelector(selector))[property];
    return Object.entries(surfaces).map(([text, behind]) => [text, Math.min(...["#fff", "#000"].map((scene) =>
      contrast(colour(text, "color"), scene, ...[".poll", ...behind].map((s) => colour(s, "backgroundColor")))))]);
  }, surfaces);
  for (const [text, ratio] of ratios) assert.ok(ratio >= 4.5, `${name}: ${text} has a contrast of ${ratio.toFixed(2)}`);
}
