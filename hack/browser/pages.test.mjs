// The overlay and the sandbox console in a real browser.

import assert from "node:assert/strict";
import { test } from "node:test";

import { browser, colours, cornerOf, faintTexts, lab, open, picture, pollTexts, readable, wanted } from "./pages.mjs";
import { kill, send, token } from "./program.mjs";

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
  await shown.locator(".poll").waitFor({ state: "hidden" });

  const address = await page.getByLabel("Address for your broadcast software").inputValue();
  assert.match(address, /#access_token=/);
  await page.getByRole("button", { name: "Start the poll" }).click();
  await page.getByRole("link", { name: "staff console" }).click();
  await wanted(page, "#polls li", "What do we play next?"); // signed in
});

test("the address of the server leads to its pages", async (t) => {
  const { origin } = await lab.serve({ data: "home" });
  for (const colorScheme of ["light", "dark"]) {
    const page = await open(t, origin, { viewport: { width: 360, height: 640 }, colorScheme });
    await wanted(page, "h1", "Acclaim");
    await page.picture(`home-${colorScheme}`);
    assert.deepEqual(await page.evaluate(faintTexts), [], colorScheme);
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "360 px is too narrow");
    for (const [link, heading] of [["Sandbox console", "Acclaim sandbox console"], ["Staff page", "Acclaim staff console"]]) {
      await page.getByRole("link", { name: link }).click();
      await wanted(page, "h1", heading);
      await page.goBack();
    }
    await page.getByRole("link", { name: "API description" }).click();
    await page.getByText("openapi: 3").first().waitFor();
  }
});

test("an overlay reads from its own server alone", async (t) => {
  const { origin } = await lab.serve({ data: "bases" });
  const poll = await ask(origin);
  for (const base of ["//other.invalid", "/\\other.invalid", "https://other.invalid"]) {
    await wanted(await open(t, overlay(origin, poll.viewer, { base })), "#total", "0 votes");
  }
});

test("an overlay shows votes that another replica accepts", async (t) => {
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

test("an overlay continues after an outage of the server", async (t) => {
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

test("an overlay takes everything from the poll, and asks for nothing while it shows it", async (t) => {
  const { origin } = await lab.serve({ data: "announced" });
  const now = Math.floor(Date.now() / 1000);
  const poll = await ask(origin, { prompt: "Which boss?", resultsVisibility: "afterClose", startsAt: now + 3600, endsAt: now + 7200 });
  const page = await browser.newPage({ viewport: { width: 900, height: 420 } });
  t.after(() => page.close());
  await page.clock.install();
  const requests = [];
  page.on("request", (r) => requests.push(new URL(r.url()).pathname));
  const address = new URL(overlay(origin, poll.viewer));
  address.searchParams.delete("title");
  await page.goto(String(address));
  await wanted(page, "#title", "Which boss?");
  await wanted(page, "#countdown", /^Begins in (59|60):/);
  await wanted(page, "#total", "Results when the poll closes");
  const configure = (config) => send(origin, poll.broadcaster, "POST", "/vote_config", { id: "p", config: { options: ["Tea", "Coffee", "Milk"], ...config } });
  requests.length = 0;
  await configure({ prompt: "And now?", resultsVisibility: "afterClose" });
  await wanted(page, "#title", "And now?");
  await wanted(page, ".option .label", "Milk");
  await poll.vote(1);
  await page.clock.fastForward(60_000);
  await picture(page, "overlay-results-hidden", { omitBackground: true });
  assert.equal(await page.locator("#total").textContent(), "Results when the poll closes");
  await configure({ prompt: "And now?", resultsVisibility: "afterClose", endsAt: -1 });
  await wanted(page, "#countdown", "Closed");
  await wanted(page, "#total", "1 vote");
  await configure({ prompt: "Again?", disabled: true });
  await wanted(page, "#countdown", "Paused");
  assert.deepEqual(requests, [], "requests in a minute");
});

test("an overlay follows the parameters of its address", async (t) => {
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

test("an overlay fits titles, options and votes of every length", async (t) => {
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
    // Its end adds the winner.
    await send(origin, poll.broadcaster, "PATCH", "/vote_config", { id: "p", config: { endsAt: -1 } });
    for (const [size, [width, height]] of Object.entries(sizes)) {
      const page = await open(t, overlay(origin, poll.viewer, { title }), { viewport: { width, height } });
      await wanted(page, "#countdown", "Closed");
      await page.picture(`overlay-${name}-${size}-closed`);
      assert.deepEqual(await page.evaluate(misplaced), [], `${name}, ${size}, closed`);
      await page.close(); // one viewer may watch from few pages at a time
    }
    await send(origin, poll.broadcaster, "DELETE", "/vote?id=p");
  }
  const poll = await ask(origin, { endsAt: Math.floor(Date.now() / 1000) - 1 });
  const page = await open(t, overlay(origin, poll.viewer));
  await wanted(page, "#countdown", "Closed");
  await wanted(page, "[role=status]", "The poll is closed. There are no votes.");
  await page.picture("overlay-closed");
});

// misplaced runs in the page: what is not whole in sight. Labels may be cut short,
// each option shows enough of its own to tell it by.
function misplaced() {
  const problems = [];
  for (const element of document.querySelectorAll(".poll, #title, #countdown, .option, .label, .figure, #total, #outcome")) {
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
    await page.picture(`console-${width}`, { fullPage: true });
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${width} px is too narrow`);
    const least = await page.evaluate(() => Math.min(...[...document.querySelectorAll("button, select, input")].map((e) => e.getBoundingClientRect()).filter((b) => b.width > 0).map((b) => b.height)));
    assert.ok(least >= 16, `something to press is ${least} px high`);
    for (const colorScheme of ["light", "dark"]) {
      await page.emulateMedia({ colorScheme });
      assert.deepEqual(await page.evaluate(faintTexts), [], colorScheme);
      assert.notDeepEqual(await cornerOf(page, page.frameLocator("#overlay").locator("body")), [255, 255, 255], `${colorScheme}: the overlay hides the scene`);
    }
  }
});

test("an overlay speaks, stands still on request and has enough contrast", async (t) => {
  const { origin } = await lab.serve({ data: "access" });
  const poll = await ask(origin);
  for (const value of [0, 1, 1, 1]) await poll.vote(value);
  const page = await open(t, overlay(origin, poll.viewer), { reducedMotion: "reduce" });
  await wanted(page, "[role=status]", "Coffee leads with 75% of 4 votes.");
  assert.equal(await page.evaluate(() => getComputedStyle(document.querySelector(".bar")).transitionDuration), "0s");
  for (const colour of colours) {
    const themed = await open(t, overlay(origin, poll.viewer, colour));
    await wanted(themed, ".option .figure", "75%");
    await readable(themed, pollTexts, JSON.stringify(colour));
    await themed.close(); // one viewer may watch from few pages at a time
  }
});
