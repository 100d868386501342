// Pages as the platform makes them for extensions, with the browser SDK of the hosted
// service in them, unmodified.

import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";

import { sign } from "./program.mjs";

const bundle = await readFile(createRequire(import.meta.url).resolve("@muxy/extensions-js"), "utf8");

// transaction returns a purchase of bits as the platform reports it to a page.
function transaction(userId, sku) {
  const product = { domainId: "twitch.ext.sample-extension", sku, displayName: "Ten spoons", cost: { amount: 10, type: "bits" } };
  const data = { transactionId: `tx-${sku}`, time: "2026-01-31 18:00:00.5 +0000 UTC", userId, product };
  return {
    ...data, initiator: "CURRENT_USER", displayName: "Zed",
    transactionReceipt: sign({ topic: "bits_transaction_receipt", data }),
  };
}

// helper runs in the page: it is the platform's part. Its messages come from /events, as
// the platform's would come from a sink.
function helper({ auth, api, bought }) {
  const later = (value) => (callback) => setTimeout(callback, 0, value);
  const events = new EventSource(`${api}/events?access_token=${encodeURIComponent(`${auth.clientId} ${auth.token}`)}`);
  const heard = new Map();
  window.connected = new Promise((resolve) => events.addEventListener("open", resolve));
  window.platform = { sent: [], began: [] };
  window.Twitch = {
    ext: {
      onAuthorized: later(auth),
      onContext: later({ theme: "dark", game: "Tower of Tea" }),
      onHighlightChanged: later(true),
      onVisibilityChanged: later(true),
      onPositionChanged: later({ x: 1, y: 2 }),
      send: (...message) => window.platform.sent.push(message),
      listen(target, callback) {
        const hear = (message) => callback(target, "application/json", message.data);
        heard.set(callback, { ...heard.get(callback), [target]: hear });
        events.addEventListener(target, hear);
      },
      unlisten: (target, callback) => events.removeEventListener(target, heard.get(callback)[target]),
      bits: {
        getProducts: async () => [{ sku: "spoons", displayName: "Ten spoons", cost: { amount: 10, type: "bits" } }],
        useBits: (sku) => (sku === "dear" ? window.cancel() : window.complete(bought)),
        onTransactionComplete: (callback) => { window.complete = callback; },
        onTransactionCancelled: (callback) => { window.cancel = callback; },
      },
      purchases: {
        beginPurchase: (sku) => window.platform.began.push(sku),
        getPrices: async () => [{ sku: "spoons" }],
        onReloadEntitlements: later("reload"),
      },
    },
  };
}

const script = (source) => `<script>${source.replaceAll("</script", "<\\/script")}</script>`;

// serve answers for every address that a page may ask for, except for the server under
// test: nothing leaves this machine.
async function serve(page, origin, pages) {
  await page.routeWebSocket(/./, (socket) => socket.close());
  await page.route(/./, (route) => {
    const address = route.request().url();
    if (address.startsWith(origin)) return route.continue();
    const body = pages[address];
    return body ? route.fulfill({ contentType: "text/html", body }) : route.abort();
  });
}

// record keeps the answers of the server under test.
function record(page, origin) {
  const answers = [];
  page.on("response", (answer) => {
    if (answer.url().startsWith(origin)) answers.push({ status: answer.status(), method: answer.request().method(), path: new URL(answer.url()).pathname });
  });
  return answers;
}

// onPlatform opens an extension's page in a frame of the platform's, in production.
export async function onPlatform(browser, origin, claims) {
  const page = await browser.newPage();
  const answers = record(page, origin);
  const auth = {
    clientId: "sample-extension", channelId: claims.channel_id, userId: claims.opaque_user_id,
    token: sign({ opaque_user_id: claims.opaque_user_id, pubsub_perms: { listen: ["broadcast", "global"] }, ...claims }),
  };
  const address = "https://sample-extension.ext-twitch.tv/sample-extension/1.0.0/abc/index.html";
  const given = JSON.stringify({ auth, api: origin + "/v1/e", bought: transaction(claims.user_id, "spoons") });
  await serve(page, origin, {
    "https://player.example/": `<iframe src="${address}?anchor=panel"></iframe>`,
    [address + "?anchor=panel"]: script(`(${helper})(${given})`) + script(bundle) + script("Muxy = Muxy.default") +
      script(`Muxy.debug(new Muxy.DebuggingOptions().url("${origin}"));
        Muxy.setup({ clientID: "sample-extension", transactionsEnabled: true, quiet: true });
        window.sdk = new Muxy.SDK();`),
  });
  await page.goto("https://player.example/");
  const frame = page.frames()[1];
  await frame.evaluate(() => Promise.all([sdk.loaded(), window.connected]));
  return { page, frame, answers };
}

// onLocalhost opens a developer's page, which uses the sandbox.
export async function onLocalhost(browser, origin, role) {
  const page = await browser.newPage();
  const answers = record(page, origin);
  await serve(page, origin, {
    "http://localhost:4000/": script("window.MEDKIT_PURCHASABLE_ITEMS = [{ sku: 'spoons', displayName: 'Ten spoons', cost: { amount: 10, type: 'bits' } }]") +
      script(bundle) + script("Muxy = Muxy.default") +
      script(`Muxy.debug(new Muxy.DebuggingOptions().url("${origin}/sandbox").channelID("1").role("${role}").userID("1"));
        Muxy.setup({ clientID: "sample-extension", transactionsEnabled: true, quiet: true });
        window.sdk = new Muxy.SDK();`),
  });
  await page.clock.install();
  await page.goto("http://localhost:4000/");
  await page.evaluate(() => sdk.loaded());
  return { page, frame: page, answers };
}

// launch options of a browser whose https pages may ask servers of this machine.
export const launching = {
  executablePath: process.env.ACCLAIM_CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-features=LocalNetworkAccessChecks,BlockInsecurePrivateNetworkRequests"],
};
