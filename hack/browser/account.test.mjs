// Sign-in of staff with an account at an OpenID Connect issuer, in a real browser.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { createHash, generateKeyPairSync, randomUUID, sign } from "node:crypto";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import path from "node:path";
import { text } from "node:stream/consumers";
import { test } from "node:test";
import { promisify } from "node:util";

import { faintTexts, lab, open, wanted } from "./pages.mjs";
import { violations } from "./rig.mjs";

// startIssuer serves an issuer whose one person agrees at once.
async function startIssuer(t, lifetime = 60) {
  const { publicKey, privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 }), asked = new Map();
  const server = createServer(async (request, response) => {
    const url = new URL(request.url, issuer), json = (value) => response.setHeader("Content-Type", "application/json").end(JSON.stringify(value));
    if (url.pathname === "/authorize") {
      const code = randomUUID(), back = new URL(url.searchParams.get("redirect_uri"));
      asked.set(code, url.searchParams);
      back.search = new URLSearchParams({ state: url.searchParams.get("state"), code });
      return response.writeHead(302, { Location: back }).end();
    }
    if (url.pathname === "/keys") return json({ keys: [{ ...publicKey.export({ format: "jwk" }), kid: "k", alg: "RS256", use: "sig" }] });
    if (url.pathname !== "/token") return json({ issuer, authorization_endpoint: `${issuer}/authorize`, token_endpoint: `${issuer}/token`, jwks_uri: `${issuer}/keys` });
    const form = new URLSearchParams(await text(request)), of = asked.get(form.get("code"));
    assert.equal(createHash("sha256").update(form.get("code_verifier")).digest("base64url"), of.get("code_challenge"));
    const now = Math.floor(Date.now() / 1000), encode = (value) => Buffer.from(JSON.stringify(value)).toString("base64url");
    const claims = { iss: issuer, aud: "acclaim", sub: "77", preferred_username: "Ada", nonce: of.get("nonce"), iat: now, exp: now + lifetime };
    const content = `${encode({ alg: "RS256", kid: "k" })}.${encode(claims)}`;
    json({ access_token: "x", token_type: "Bearer", id_token: `${content}.${sign("sha256", content, privateKey).toString("base64url")}` });
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const issuer = `http://127.0.0.1:${server.address().port}`;
  t.after(() => server.close());
  return issuer;
}

async function freePort() {
  const server = createServer();
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address();
  server.close();
  await once(server, "close");
  return port;
}

const broadcasters = [{ claim: "sub", channelClaim: "sub", role: "broadcaster" }];

// withSignIn serves an extension with a sign-in, opens the staff page, and returns a function that changes who is staff.
async function withSignIn(t, data, view) {
  const issuer = await startIssuer(t), port = await freePort(), registry = path.join(lab.folder, `${data}.json`);
  const setStaff = (staff) => writeFile(registry, JSON.stringify({ extensions: [{
    clientID: "sample-extension", secrets: [{ value: "c2FtcGxlLXNlY3JldC10aGF0LWV2ZXJ5b25lLWtub3dz" }],
    signIn: { name: "Example ID", issuer, clientID: "acclaim", redirectURL: `http://127.0.0.1:${port}/v1/staff/callback`, staff },
  }] }));
  await setStaff(broadcasters);
  const { origin } = await lab.serve({ port, data, args: ["--extensions", registry, "--sink-allow-private"] });
  return { page: await open(t, `${origin}/live/staff.html`, { viewport: { height: 900, ...view } }), setStaff };
}

test("a broadcaster signs in with an account, makes a poll, ends it and signs out", async (t) => {
  const { page } = await withSignIn(t, "account", { width: 1280 });
  await page.getByRole("button", { name: "Sign in with Example ID" }).waitFor();
  await page.picture("staff-account", { fullPage: true });
  await page.locator("#account").getByRole("button").press("Enter");
  await page.locator("#work").waitFor();
  assert.equal(new URL(page.url()).hash, "");
  assert.deepEqual(await page.evaluate(() => [document.cookie, localStorage.length, sessionStorage.length]), ["", 0, 0]);
  await page.locator("#moderators li").filter({ hasText: "Ada" }).filter({ hasText: "broadcaster, signed in at" }).waitFor();
  await page.reload(); // which the session outlives
  await page.locator("#work").waitFor();
  assert.ok(await page.locator("#account").isHidden());

  await page.locator("#new").getByLabel("Question").fill("By account?\nyes\nno");
  await page.locator("#new").getByRole("button").press("Enter");
  await page.locator("#poll-title").filter({ hasText: "By account?" }).waitFor();
  await page.getByRole("button", { name: "End the poll now" }).press("Enter");
  await page.locator("#poll-state").filter({ hasText: "expired" }).waitFor();

  await page.getByRole("button", { name: "Sign out" }).press("Enter");
  await page.locator("#connection").filter({ hasText: "Signed out." }).waitFor();
  assert.equal(await page.evaluate(() => fetch("/v1/staff").then((answer) => answer.status)), 401);
});

test("a session ends with its rule, also in an open page of a phone", async (t) => {
  const { page, setStaff } = await withSignIn(t, "rule", { width: 390 });
  await page.getByRole("button", { name: "Sign in with Example ID" }).waitFor();
  await page.picture("staff-account-phone", { fullPage: true });
  await page.getByRole("button", { name: "Sign in with Example ID" }).press("Enter");
  await page.locator("#work").waitFor();
  await setStaff([{ claim: "groups", value: "staff", channel: "77", role: "broadcaster" }]);
  await page.locator("#connection").filter({ hasText: "Signed out." }).waitFor({ timeout: 60_000 }); // without a click
  await page.getByRole("button", { name: "Sign in with Example ID" }).press("Enter");
  await page.getByText("You are not staff of a channel.").waitFor();
});

// withViewers serves an extension whose viewers sign in, with a poll "p" and the desk of its broadcaster.
async function withViewers(t, data, config) {
  const issuer = await startIssuer(t, 3600), port = await freePort(), registry = path.join(lab.folder, `${data}.json`);
  await writeFile(registry, JSON.stringify({ extensions: [{
    clientID: "sample-extension", secrets: [{ value: "c2FtcGxlLXNlY3JldC10aGF0LWV2ZXJ5b25lLWtub3dz" }],
    signIn: { issuer, clientID: "acclaim", redirectURL: `http://127.0.0.1:${port}/v1/staff/callback`, staff: broadcasters },
    viewerIssuers: [{ name: "Example ID", issuer, audience: "acclaim", channels: ["77"], redirectURL: `http://127.0.0.1:${port}/v1/viewer/callback` }],
  }] }));
  const { origin } = await lab.serve({ port, data, args: ["--extensions", registry, "--sink-allow-private"] });
  const desk = await open(t, `${origin}/live/staff.html`);
  await desk.getByRole("button", { name: "Sign in with Example ID" }).or(desk.locator("#account button")).first().press("Enter");
  await desk.locator("#work").waitFor();
  const configure = (method, config) => desk.evaluate(([method, config]) => fetch("/v1/vote_config", { method, body: JSON.stringify({ id: "p", config }) }), [method, config]);
  await configure("POST", { prompt: "Which?", options: ["one", "two"], ...config });
  return { origin, configure, page: await open(t, `${origin}/vote/sample-extension/77/p`, { viewport: { width: 360, height: 740 } }) };
}

test("a viewer signs in with an account, votes, reloads, signs out, and finds a token ended", async (t) => {
  const { page } = await withViewers(t, "viewers", {});
  await page.locator("#state").filter({ hasText: "Sign in to vote." }).waitFor();
  await page.picture("vote-account", { fullPage: true });
  await page.getByRole("button", { name: "Sign in with Example ID" }).press("Enter");
  await page.getByLabel("two").check();
  await page.getByRole("button", { name: "Vote" }).press("Enter");
  await page.locator("#state").filter({ hasText: "You voted for two." }).waitFor();
  assert.deepEqual(await page.evaluate(() => [document.cookie, localStorage.length, sessionStorage.length]), ["", 0, 0]);
  await page.picture("vote-account-counted", { fullPage: true });
  await page.reload();
  await page.locator("#state").filter({ hasText: "You voted for two." }).waitFor();
  await page.getByRole("button", { name: "Sign out" }).press("Enter");
  await page.locator("#state").filter({ hasText: "Sign in to vote." }).waitFor();
  assert.ok(await page.locator("#results").isHidden());

  await page.getByRole("button", { name: "Sign in with Example ID" }).press("Enter");
  await page.locator("#state").filter({ hasText: "You voted for two." }).waitFor();
  await page.context().clearCookies(); // as the browser does when the token ends
  await page.evaluate(() => dispatchEvent(new Event("online"))); // the page looks again
  await page.locator("#state").filter({ hasText: "Your sign-in has ended." }).waitFor();
  assert.ok(await page.locator("#results").isHidden());
  assert.ok(await page.getByRole("button", { name: "Sign in with Example ID" }).isVisible());
});

test("a viewer of a poll whose votes can be checked saves the receipt, which the command checks", async (t) => {
  const { origin, page, configure } = await withViewers(t, "receipts", { verifiable: true });
  const signIn = () => page.getByRole("button", { name: "Sign in with Example ID" }).press("Enter");
  const vote = async (option) => {
    await page.getByLabel(option).check();
    await page.getByRole("button", { name: "Vote" }).press("Enter");
    await wanted(page, "#state", `You voted for ${option}.`);
  };
  await signIn();
  await page.getByLabel("one").waitFor();
  assert.equal(await page.locator("#check").isVisible(), false, "there is no vote to check");
  await vote("one");
  await wanted(page, "#check-state", "Your receipt is ready.");
  await page.locator("#save-receipt").focus();
  await page.evaluate(() => dispatchEvent(new Event("online"))); // looks at once
  await vote("two");
  await wanted(page, "#check-state", "Your receipt is ready.");
  await page.picture("vote-receipt", { fullPage: true });
  assert.deepEqual(await violations(page), []);
  assert.deepEqual(await page.evaluate(faintTexts), []);
  await page.reload(); // the browser keeps the secret
  await wanted(page, "#check-state", "Your receipt is ready.");

  await configure("PATCH", { prompt: "Which, really?" }); // the votes stay, and the page does not know yet
  await page.getByLabel("one").check();
  await page.getByRole("button", { name: "Vote" }).press("Enter");
  await wanted(page, "#message", "The question has changed. Read it, and vote again.");
  await wanted(page, "h1", "Which, really?");
  await vote("one");
  await wanted(page, "#check-state", "Your receipt is ready.");
  await configure("PATCH", { endsAt: -1 });
  const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "Save the receipt" }).click()]);
  assert.equal(download.suggestedFilename(), "p.acclaim-receipt");
  const key = (await (await fetch(`${origin}/log/vkeys`)).text()).trim(), file = await download.path();
  for (const until = Date.now() + 60_000; ;) { // closing and signing take some seconds
    const { stdout } = await promisify(execFile)(lab.binary, ["verify-receipt", file, "--key", key, "--site", origin]).catch((error) => error);
    if (/Your vote is in the final result, once/.test(stdout)) break;
    assert.ok(Date.now() < until, stdout);
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
  await page.getByRole("button", { name: "Sign out" }).press("Enter");
  await wanted(page, "#state", "Sign in to vote.");
  assert.equal(await page.locator("#check").isVisible(), false);
  assert.equal(await page.evaluate(() => localStorage.length), 0, "the browser keeps a secret of a person who is gone");
});

test("a page says when a vote is not signed, and when another page of the account has voted", async (t) => {
  const { page } = await withViewers(t, "unsigned", { verifiable: true });
  await page.route("**/receipt?*", (route) => route.fulfill({ status: 404, json: { reason: "The vote is not in the signed list yet" } }));
  await page.getByRole("button", { name: "Sign in with Example ID" }).press("Enter");
  await page.getByLabel("one").check();
  await page.getByRole("button", { name: "Vote" }).press("Enter");
  await wanted(page, "#check-state", "The server is signing your vote.");
  await wanted(page, "#check-state", "The server has not signed your vote yet.");
  await page.unroute("**/receipt?*");
  await page.evaluate(() => fetch("/v1/vote?id=p", { method: "POST", headers: { Authorization: "OIDC sample-extension/77/" }, body: JSON.stringify({ value: 1 }) }));
  await wanted(page, "#check-state", "Your account has voted again on another page.");
  assert.equal(await page.locator("#save-receipt").isVisible(), false);
  await page.picture("vote-receipt-elsewhere", { fullPage: true });
});
