// The overlay's cloud of words, its languages and its looks, in a real browser.

import assert from "node:assert/strict";
import { test } from "node:test";

import { faintTexts, lab, open, pollTexts, readable, wanted } from "./pages.mjs";
import { send, token } from "./program.mjs";
import { violations } from "./rig.mjs";

const address = (origin, credential, query) => `${origin}/live/?${new URLSearchParams([["env", "sandbox"], ...query])}#access_token=${encodeURIComponent(credential)}`;
const gone = (page) => page.locator(".poll").waitFor({ state: "hidden" });

async function answer(origin, question, texts) {
  for (const [n, key] of texts.entries()) await send(origin, await token(origin, { role: "viewer", user_id: String(5000 + n) }), "POST", `/rank?id=${question}`, { key });
}

test("one address shows the live one of several questions, and nothing between two", async (t) => {
  const { origin } = await lab.serve({ data: "cloud" });
  const broadcaster = await token(origin, { role: "broadcaster" });
  const desk = await open(t, `${origin}/live/staff.html?env=sandbox#access_token=${encodeURIComponent(broadcaster)}`, { viewport: { width: 1280, height: 1000 } });
  await desk.locator("#work").waitFor();
  await desk.getByLabel("It shows").selectOption("questions");
  await desk.getByLabel("Questions, one a line").fill("Best snack?\nBest level?");
  await desk.getByRole("button", { name: "Make a key" }).click();
  await desk.locator("#made").waitFor();
  const page = await open(t, await desk.getByLabel("Address for your broadcast software").inputValue());
  await gone(page);
  assert.equal(await page.evaluate(() => document.body.innerText.trim()), "");

  const about = async (question) => {
    await desk.locator("#question").getByLabel("Question").fill(question);
    await desk.getByRole("button", { name: "Open", exact: true }).click();
    await desk.waitForFunction((name) => document.querySelector("#question").elements.id.value === name && !document.getElementById("answers").hidden, question);
  };
  const asked = (text) => wanted(desk, "#asked", text);
  await about("Best snack?");
  await asked("Viewers may answer at any time.");
  await desk.getByRole("button", { name: "Ask now" }).click();
  await asked("Asked at");
  await wanted(page, "#title", "Best snack?");
  await answer(origin, "Best%20snack%3F", ["Crisps", "CRISPS", "Fruit"]); // as the page asks, case does not matter
  await wanted(page, "#cloud li[data-leads=true]", /crisps/i);
  await wanted(page, "#total", "3 answers");
  await desk.locator("#answers-title").scrollIntoViewIfNeeded();
  await desk.picture("staff-asked", { fullPage: true });
  assert.deepEqual(await violations(desk), []);
  await page.picture("cloud-live");

  // The next one takes its place, and leaves at its end.
  await about("Best level?");
  await asked("Viewers may answer at any time.");
  await desk.getByRole("button", { name: "Ask now" }).click();
  await wanted(page, "#title", "Best level?");
  await wanted(page, "#total", "0 answers");
  await answer(origin, "Best%20level%3F", ["Lava"]);
  await wanted(page, "#cloud li", "Lava");
  await about("Best snack?");
  await asked("Asked at");
  await desk.getByRole("button", { name: "Stop asking" }).click();
  await asked("Ended at");
  await wanted(page, "#title", "Best level?");
  await page.evaluate(() => { location.search += "&linger=0"; });
  await wanted(page, "#cloud li", "Lava");
  await send(origin, broadcaster, "PATCH", "/rank_config", { id: "Best level?", config: { endsAt: -1 } });
  await gone(page);
  await page.mouse.move(100, 100);
  await wanted(page, "#hint", "No question is live. When one begins, it appears here.");
});

// ask gives a program a poll with votes, and returns the address of its overlay.
async function ask(origin, config = {}, votes = [0, 1, 1, 1]) {
  const broadcaster = await token(origin, { role: "broadcaster" });
  await send(origin, broadcaster, "POST", "/vote_config", { id: "p", config: { prompt: "Tea or coffee?", options: ["Tea", "Coffee"], ...config } });
  for (const [n, value] of votes.entries()) await send(origin, await token(origin, { role: "viewer", user_id: String(1000 + n) }), "POST", "/vote?id=p", { value });
  const viewer = await token(origin, { role: "viewer" });
  return { broadcaster, at: (query) => address(origin, viewer, [["poll", "p"], ...Object.entries(query)]) };
}

test("the overlay speaks the language of its address or of the browser", async (t) => {
  const { origin } = await lab.serve({ data: "languages" });
  const { broadcaster, at } = await ask(origin);
  const texts = { en: ["4 votes", "Winner: Coffee", "Closed"], de: ["4 Stimmen", "Gewonnen: Coffee", "Beendet"], es: ["4 votos", "Ganador: Coffee", "Cerrada"], ja: ["4票", "1位: Coffee", "終了"] };
  for (const [lang, [total]] of Object.entries(texts)) {
    const page = await open(t, at({ lang }));
    await wanted(page, "#total", total);
    assert.equal(await page.evaluate(() => document.documentElement.lang), lang);
    await page.close(); // one viewer may watch from few pages at a time
  }
  await send(origin, broadcaster, "PATCH", "/vote_config", { id: "p", config: { endsAt: -1 } });
  for (const [locale, lang] of [["de-AT", "de"], ["es-MX", "es"], ["ja-JP", "ja"], ["fr-FR", "en"]]) {
    const page = await open(t, at({}), { locale });
    const [total, outcome, countdown] = texts[lang];
    await wanted(page, "#outcome", outcome);
    await wanted(page, "#total", total);
    await wanted(page, "#countdown", countdown);
    await page.picture(`overlay-${lang}`);
    assert.deepEqual(await violations(page), [], lang);
    await page.close();
  }
});

test("every language has every text", async (t) => {
  const { origin } = await lab.serve({ data: "texts" });
  const page = await open(t, `${origin}/live/`);
  const languages = await page.evaluate(() => import("/live/texts.js").then((m) => m.languages));
  const parts = (value) => [...JSON.stringify(value).matchAll(/\{\w+\}/g)].map(([part]) => part);
  for (const [language, texts] of Object.entries(languages)) {
    assert.deepEqual(Object.keys(texts), Object.keys(languages.en), language);
    for (const [name, value] of Object.entries(texts)) {
      assert.deepEqual([...new Set(parts(value))].sort(), [...new Set(parts(languages.en[name]))].sort(), `${language}: ${name}`);
    }
  }
});

test("custom CSS of broadcast software changes the looks of every theme", async (t) => {
  const { origin } = await lab.serve({ data: "custom" });
  const { at } = await ask(origin);
  for (const theme of ["dark", "light", "contrast"]) {
    const page = await open(t, at({ theme, accent: "00aa55" }));
    await wanted(page, ".option .figure", "75%");
    await readable(page, pollTexts, theme);
    await page.picture(`overlay-theme-${theme}`);
    await page.evaluate((css) => { // as OBS adds it
      const style = document.createElement("style");
      style.textContent = css;
      document.head.append(style);
    }, ":root { --plate: rgb(10 40 20 / 95%); --track: #123; --text: #fefefe; --faint: #ddd; --bar: #245; --lead: #0a5; --radius: 0px; --font: monospace; }");
    const style = (selector, property) => page.evaluate(([s, p]) => getComputedStyle(document.querySelector(s))[p], [selector, property]);
    assert.equal(await style(".poll", "backgroundColor"), "rgba(10, 40, 20, 0.95)", theme);
    assert.equal(await style("#title", "color"), "rgb(254, 254, 254)", theme);
    assert.equal(await style(".poll", "borderRadius"), "0px", theme);
    assert.equal(await style(".poll", "fontFamily"), "monospace", theme);
    await page.waitForFunction(() => getComputedStyle(document.querySelector("[data-leads=true] .bar")).backgroundColor === "rgb(0, 170, 85)");
    await page.picture(`overlay-custom-${theme}`);
    await page.close();
  }
});

test("the contrast theme can be read by everyone", async (t) => {
  const { origin } = await lab.serve({ data: "contrast" });
  const { at } = await ask(origin, { endsAt: Math.floor(Date.now() / 1000) + 3600 });
  const page = await open(t, at({ theme: "contrast" }));
  await wanted(page, ".option .figure", "75%");
  await readable(page, pollTexts, "contrast");
  assert.deepEqual(await page.evaluate(faintTexts), []);
  assert.deepEqual(await violations(page), []);
  await page.picture("overlay-contrast");
});
