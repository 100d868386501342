// The pages in a real browser. Screenshots are left in the folder that
// ACCLAIM_SCREENSHOTS names, or in hack/browser/screenshots: look at them after a
// change of the pages.

import assert from "node:assert/strict";
import { mkdir } from "node:fs/promises";
import path from "node:path";
import { after, before, test } from "node:test";

import { chromium } from "playwright-core";

import { kill, Lab, send, token } from "./program.mjs";

const screenshots = process.env.ACCLAIM_SCREENSHOTS ?? path.join(import.meta.dirname, "screenshots");
let lab, browser;

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
async function open(t, address, options = {}) {
  const page = await browser.newPage({ viewport: { width: 900, height: 420 }, ...options });
  const complaints = [];
  page.on("pageerror", (e) => complaints.push(e.message));
  page.on("console", (m) => {
    if (/Content Security Policy/.test(m.text())) complaints.push(m.text());
  });
  t.after(async () => {
    await page.close();
    assert.deepEqual(complaints, []);
  });
  await page.goto(address);
  page.picture = (name) => page.screenshot({ path: path.join(screenshots, name + ".png"), omitBackground: true, animations: "disabled" });
  return page;
}

// wanted waits until an element says something.
const wanted = (scope, selector, text) => scope.locator(selector).filter({ hasText: text }).waitFor();

function overlay(origin, credential, query = {}) {
  return `${origin}/live/?${new URLSearchParams({ env: "sandbox", poll: "p", title: "Tea or coffee?", ...query })}#access_token=${encodeURIComponent(credential)}`;
}

// ask configures the poll "p" and returns how to vote in it.
async function ask(origin, config = {}) {
  const broadcaster = await token(origin, { role: "broadcaster" });
  await send(origin, broadcaster, "POST", "/vote_config", { id: "p", config: { options: ["Tea", "Coffee"], ...config } });
  let voters = 0;
  return {
    broadcaster,
    viewer: await token(origin, { role: "viewer" }),
    vote: async (value, through = origin) =>
      send(through, await token(through, { role: "viewer", user_id: String(1000 + voters++) }), "POST", "/vote?id=p", { value }),
  };
}

test("a newcomer asks, lets viewers vote, watches, ends and deletes", async (t) => {
  const { origin } = await lab.serve();
  const page = await open(t, origin + "/live/console.html", { viewport: { width: 1280, height: 960 } });
  await page.getByRole("button", { name: "Start the poll" }).click();
  const shown = page.frameLocator("#overlay");
  await wanted(shown, ".option .label", "Something with dragons");
  await wanted(shown, "#total", "0 votes");
  await page.getByRole("slider").fill("400");
  await wanted(shown, "#total", /^(\d\d+) votes/);
  await wanted(shown, ".option[data-leads=true] .figure", /[1-9]\d*%/);
  await wanted(shown, "#countdown", /^4:\d\d$/);
  await page.picture("console");
  await page.getByRole("slider").fill("0");
  await page.getByRole("button", { name: "End the poll now" }).click();
  await wanted(shown, "#countdown", "Closed");
  await page.getByRole("slider").fill("100");
  await wanted(page, "#message", "A vote was refused: poll is closed");
  await page.getByRole("slider").fill("0");
  await page.getByRole("button", { name: "Delete it" }).click();
  await wanted(shown, "#total", "0 votes");

  const address = await page.getByLabel("Address for your broadcast software").inputValue();
  assert.match(address, /#access_token=/);
});

test("an overlay moves with votes that another replica takes", async (t) => {
  const mongodb = await lab.database();
  const [here, there] = [await lab.serve({ mongodb }), await lab.serve({ mongodb })];
  const poll = await ask(there.origin);
  const page = await open(t, overlay(here.origin, poll.viewer));
  await wanted(page, "#total", "0 votes");
  await poll.vote(1);
  await wanted(page, "#total", "1 vote");
  for (const value of [0, 1, 1]) await poll.vote(value, there.origin);
  await wanted(page, "#total", "4 votes");
  await wanted(page, ".option[data-leads=true]", "Coffee");
  await page.picture("overlay");
  await kill(there);
  await poll.vote(0, here.origin);
  await wanted(page, "#total", "5 votes");
});

test("an overlay goes on after the server was away", async (t) => {
  const data = "restarted";
  const server = await lab.serve({ data });
  const poll = await ask(server.origin);
  const page = await open(t, overlay(server.origin, poll.viewer));
  await poll.vote(0);
  await wanted(page, "#total", "1 vote");
  await kill(server);
  await wanted(page, "#state", "Reconnecting");
  await lab.serve({ data, port: new URL(server.origin).port });
  await poll.vote(1);
  await wanted(page, "#total", "2 votes");
  await page.waitForFunction(() => document.getElementById("state").textContent === "");
  await poll.vote(1);
  await wanted(page, "#total", "3 votes");
  await kill(await lab.running.at(-1), "SIGTERM"); // this one says goodbye
  await wanted(page, "#state", "Reconnecting");
  await lab.serve({ data, port: new URL(server.origin).port });
  await poll.vote(1);
  await wanted(page, "#total", "4 votes");
});

test("an overlay looks as its address says", async (t) => {
  const { origin } = await lab.serve({ data: "looks" });
  const poll = await ask(origin, { endsAt: Math.floor(Date.now() / 1000) + 3600 });
  for (const value of [0, 1, 1, 1]) await poll.vote(value);
  const transparent = (page) => page.evaluate(() => getComputedStyle(document.body).backgroundColor);

  const small = await open(t, overlay(origin, poll.viewer, { hide: "total,title", show: "votes", labels: "A|B" }), { viewport: { width: 240, height: 120 } });
  await wanted(small, ".option .figure", /^3$/);
  await wanted(small, ".option .label", "B");
  assert.equal(await small.locator("#total").isVisible(), false);
  assert.equal(await small.locator("h1#title").isVisible(), false);
  assert.equal(await transparent(small), "rgba(0, 0, 0, 0)");
  await small.picture("overlay-small");

  const light = await open(t, overlay(origin, poll.viewer, { theme: "light", show: "percent", accent: "0b7285" }));
  await wanted(light, ".option .figure", /^75%$/);
  await wanted(light, "#countdown", /^(59|60):\d\d$/);
  await light.picture("overlay-light");

  const large = await open(t, overlay(origin, poll.viewer), { viewport: { width: 1920, height: 1080 } });
  await wanted(large, ".option .figure", "75% · 3");
  const size = (page) => page.evaluate(() => parseFloat(getComputedStyle(document.documentElement).fontSize));
  assert.ok((await size(large)) > 2 * (await size(small)));
  await large.picture("overlay-large");
});

test("an overlay holds whatever there is to show", async (t) => {
  const { origin } = await lab.serve({ data: "holds" });
  const long = ["The one with the extraordinarily long name that nobody has ever read to its end", "Donaudampfschifffahrtsgesellschaftskapitänswitwenrente", "B"];
  const ten = Array.from({ length: 10 }, (_, n) => `Level ${n + 1}`);
  const sizes = { tiny: [240, 135], small: [320, 180], usual: [900, 420], tall: [360, 800], large: [1920, 1080] };
  for (const [name, config, title, votes] of [
    ["empty", {}, "Tea or coffee?", []],
    ["long", { options: long }, "Which of these many things, all of which are dear to us, shall we do at the very end of this long evening?", [0, 0, 1, 2]],
    ["ten", { options: ten }, "Which level next?", [0, 1, 1, 3, 9, 9, 9]],
  ]) {
    const poll = await ask(origin, { ...config, endsAt: Math.floor(Date.now() / 1000) + 3600 });
    for (const value of votes) await poll.vote(value);
    for (const [size, [width, height]] of Object.entries(sizes)) {
      const page = await open(t, overlay(origin, poll.viewer, { title }), { viewport: { width, height } });
      await wanted(page, "#total", votes.length + " votes");
      await wanted(page, "#countdown", /^(59|60):\d\d$/);
      await page.picture(`overlay-${name}-${size}`);
      assert.deepEqual(await page.evaluate(misplaced), [], `${name}, ${size}`);
    }
    await send(origin, poll.broadcaster, "DELETE", "/vote?id=p");
  }
  const poll = await ask(origin, { endsAt: Math.floor(Date.now() / 1000) - 1 });
  const page = await open(t, overlay(origin, poll.viewer));
  await wanted(page, "#countdown", "Closed");
  await wanted(page, "[role=status]", "The poll is closed. Nobody has voted.");
  await page.picture("overlay-closed");
});

// misplaced runs in the page: what is not whole in sight. Labels may be cut short,
// each option shows enough of its own to tell it by.
function misplaced() {
  const problems = [];
  for (const element of document.querySelectorAll(".poll, #title, #countdown, .option, .label, .figure, #total")) {
    const box = element.getBoundingClientRect(), name = element.id || element.className;
    if (box.left < 0 || box.top < 0 || box.right > innerWidth + 0.5 || box.bottom > innerHeight + 0.5) problems.push(`${name} is outside`);
    const line = parseFloat(getComputedStyle(element).fontSize);
    if (element.textContent && box.height < line) problems.push(`${name} is ${box.height} px high`);
    if (name === "label" && box.width < Math.min(element.scrollWidth - 1, 3 * line)) problems.push(`${element.textContent} is ${box.width} px wide`);
    const holder = element.closest(".option");
    if (holder && box.bottom > holder.getBoundingClientRect().bottom + 0.5) problems.push(`${name} is cut off`);
  }
  return problems;
}

test("a console fits in a small window", async (t) => {
  const { origin } = await lab.serve({ data: "narrow" });
  for (const [width, height] of [[360, 640], [768, 600]]) {
    const page = await open(t, origin + "/live/console.html", { viewport: { width, height } });
    await page.getByRole("button", { name: "Start the poll" }).click();
    await wanted(page.frameLocator("#overlay"), ".option .label", "Something with dragons");
    await page.screenshot({ path: path.join(screenshots, `console-${width}.png`), fullPage: true });
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${width} px is too narrow`);
    const least = await page.evaluate(() => Math.min(...[...document.querySelectorAll("button, select, input")].map((e) => e.getBoundingClientRect()).filter((b) => b.width > 0).map((b) => b.height)));
    assert.ok(least >= 16, `something to press is ${least} px high`);
  }
});

test("everybody can follow an overlay", async (t) => {
  const { origin } = await lab.serve({ data: "access" });
  const poll = await ask(origin);
  for (const value of [0, 1, 1, 1]) await poll.vote(value);
  const page = await open(t, overlay(origin, poll.viewer), { reducedMotion: "reduce" });
  await wanted(page, "[role=status]", "Coffee leads with 75 percent of 4 votes.");
  assert.equal(await page.evaluate(() => getComputedStyle(document.querySelector(".bar")).transitionDuration), "0s");
  // Contrast of text on a bar, on the track and on the plate, over white and black.
  for (const theme of ["dark", "light"]) for (const accent of ["", "ffee00", "ffffff", "000000", "d6336c"]) {
    const themed = await open(t, overlay(origin, poll.viewer, { theme, accent }));
    await wanted(themed, ".option .figure", "75%");
    for (const [name, ratio] of Object.entries(await themed.evaluate(contrasts))) {
      assert.ok(ratio >= 4.5, `${theme} ${accent}: ${name} has a contrast of ${ratio.toFixed(2)}`);
    }
  }
});

// contrasts runs in the page: the least contrast of text on each surface.
function contrasts() {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const over = (...colours) => {
    canvas.clearRect(0, 0, 1, 1);
    for (const colour of colours) { canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1); }
    return [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3);
  };
  const light = (rgb) => rgb.map((v) => v / 255).map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const contrast = (a, b) => (Math.max(light(a), light(b)) + 0.05) / (Math.min(light(a), light(b)) + 0.05);
  const colour = (selector, property) => getComputedStyle(document.querySelector(selector))[property];
  const plate = colour(".poll", "backgroundColor"), track = colour(".option", "backgroundColor");
  const least = (text, ...surface) => Math.min(...["#fff", "#000"].map((scene) => contrast(over(scene, ...surface, text), over(scene, ...surface))));
  return {
    title: least(colour("h1#title", "color"), plate),
    total: least(colour("#total", "color"), plate),
    label: least(colour(".label", "color"), plate, track),
    leader: least(colour(".label", "color"), plate, track, colour("[data-leads=true] .bar", "backgroundColor")),
    other: least(colour(".label", "color"), plate, track, colour("[data-leads=false] .bar", "backgroundColor")),
  };
}
