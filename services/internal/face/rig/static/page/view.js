// A view of the extension: a frame, who looks at it, and what its helper asks for.

import { ask, choice, field, make, tick } from "./dom.js";

// kinds has the address parameters and the context of each view, and its size where the player
// does not give it.
export const kinds = {
  panel: { anchor: "panel", mode: "viewer", platform: "web", size: [318, 496] },
  video_overlay: { anchor: "video_overlay", mode: "viewer", platform: "web", player: true },
  video_component: { anchor: "component", mode: "viewer", platform: "web", player: true },
  mobile: { anchor: "panel", mode: "viewer", platform: "mobile", size: [375, 500] },
  config: { mode: "config", platform: "web", size: [640, 496] },
  live_config: { mode: "dashboard", platform: "web", size: [318, 496] },
};

export const roles = ["viewer", "moderator", "broadcaster"];

export class View {
  constructor(channel, { kind, user, role }) {
    Object.assign(this, { channel, kind, user, role });
    this.name = `${kind} ${user || "visitor"}`;
    this.opaque = "";
    this.subscription = "none";
    this.visible = true;
    this.targets = new Map(); // how often it listens to each
    this.build();
    this.load();
  }

  build() {
    const { player, size } = kinds[this.kind];
    this.frame = this.makeFrame("");
    this.stage = make("div", { className: player ? `stage player ${this.kind}` : "stage" }, this.frame);
    const [width, height] = size ?? this.channel.context.displayResolution.split("x");
    this.resize(width, height);
    this.prompts = make("div", { className: "prompts" });
    this.shares = tick(false, (on) => this.share(on));
    this.shows = tick(true, (on) => this.show(on));
    const clock = make("input", { type: "number", value: 0, step: 1, className: "short" });
    clock.onchange = () => this.setClock(clock.valueAsNumber || 0);
    const button = (textContent, onclick) => make("button", { type: "button", textContent, onclick });
    this.element = make("section", { className: "view" },
      make("h2", { textContent: `${this.kind}, ${this.role} ${this.user || "without a login"}` }),
      make("div", { className: "controls" },
        field("shares identity", this.shares), field("visible", this.shows),
        field("highlighted", tick(false, (on) => this.notify("highlight", on))),
        field("subscription", choice(["none", "1000", "2000", "3000"], "none", (tier) => { this.subscription = tier; this.notify("viewer", this.viewer()); })),
        field("clock ahead by, s", clock),
        button("Reload", () => this.load()), button("New token", () => this.authorize()),
        button("Error", () => this.fail("an error of the helper, made by hand")), button("Remove", () => this.remove())),
      this.prompts, this.stage);
    this.shares.disabled = !this.user || this.isBroadcaster();
  }

  makeFrame(name) {
    const frame = make("iframe", { title: this.name, name, hidden: !this.visible });
    frame.sandbox = "allow-forms allow-popups allow-popups-to-escape-sandbox allow-same-origin allow-scripts";
    return frame;
  }

  resize(width, height) {
    Object.assign(this.stage.style, { width: `${width}px`, height: `${height}px` });
  }

  isBroadcaster() {
    return this.role === "broadcaster";
  }

  isLinked() {
    return this.user !== "" && (this.isBroadcaster() || this.channel.sharing.has(this.user));
  }

  // load opens the file of the view, as the platform opens it.
  load() {
    const { anchor, mode, platform } = kinds[this.kind];
    const { language } = this.channel.context;
    const parameters = new URLSearchParams({ ...(anchor && { anchor }), language, locale: language, mode, platform, popout: false, state: "testing" });
    this.targets.clear();
    this.ready = false;
    this.frame.src = `${this.channel.extension}/${this.channel.files[this.kind]}?${parameters}`;
  }

  remove() {
    clearTimeout(this.renewal);
    this.turn = Infinity;
    this.channel.views.delete(this);
    this.element.remove();
  }

  notify(name, value) {
    if (!this.ready) return;
    this.channel.log.add(this.name, "←", name, [value]);
    this.frame.contentWindow.postMessage({ rig: "event", name, value }, this.channel.extension);
  }

  notifyContext(changed) {
    this.notify("context", { context: this.ownContext(), changed });
  }

  ownContext() {
    return { ...this.channel.context, mode: kinds[this.kind].mode };
  }

  viewer() {
    const available = this.channel.features.isSubscriptionStatusAvailable && this.isLinked() && this.subscription !== "none";
    return {
      opaqueId: this.opaque, id: this.isLinked() ? this.user : null, role: this.role, isLinked: this.isLinked(),
      sessionToken: this.token ?? null, subscriptionStatus: available ? { tier: this.subscription } : null,
    };
  }

  // authorize gives the extension a token, and another one before that ends.
  async authorize() {
    clearTimeout(this.renewal);
    const turn = this.turn = (this.turn ?? 0) + 1;
    let wait = 5000;
    try {
      const { token, opaque, expires } = await ask("/token", { role: this.role, user: this.user, opaque: this.opaque, shared: this.isLinked() });
      if (turn !== this.turn) return; // another one is on its way, or the view is gone
      Object.assign(this, { token, opaque });
      const { clientId, channel: channelId } = this.channel;
      this.notify("authorized", { auth: { channelId, clientId, token, helixToken: "", userId: opaque }, viewer: this.viewer() });
      wait = (expires * 1000 - Date.now()) * 0.9;
    } catch (error) {
      this.channel.log.add(this.name, "!", "authorize", [error.message]);
    }
    if (turn === this.turn) this.renewal = setTimeout(() => this.authorize(), wait);
  }

  // share sets whether the user shares the identity, in all of the user's views.
  share(on) {
    if (on) this.channel.sharing.add(this.user);
    else this.channel.sharing.delete(this.user);
    for (const view of this.channel.views) {
      if (view.user !== this.user) continue;
      view.shares.checked = on;
      view.authorize();
    }
  }

  show(on) {
    this.visible = this.shows.checked = on;
    this.frame.hidden = !on;
    this.notify("visibility", { visible: on, context: this.ownContext() });
  }

  // setClock opens the view on a device whose clock is wrong by whole seconds. The name of a frame
  // is read when the frame is made.
  setClock(seconds) {
    const frame = this.makeFrame(`clock ${Math.trunc(seconds)}`);
    this.frame.replaceWith(frame);
    this.frame = frame;
    this.load();
  }

  fail(reason) {
    this.notify("error", reason);
  }

  // confirm asks the person before the view, as the platform's dialogs do.
  confirm(text, yes) {
    return new Promise((resolve) => {
      const close = (answer) => { prompt.remove(); resolve(answer); };
      const prompt = make("p", { className: "prompt" }, text,
        make("button", { type: "button", textContent: yes, onclick: () => close(true) }),
        make("button", { type: "button", textContent: "Cancel", onclick: () => close(false) }));
      this.prompts.append(prompt);
    });
  }

  listens(target) {
    return (this.targets.get(target) ?? 0) > 0 && (!target.startsWith("whisper-") || target === `whisper-${this.opaque}`);
  }

  // called answers a call of the helper in the frame.
  called({ name, args, id }) {
    this.channel.log.add(this.name, "→", name, args);
    if (Object.hasOwn(calls, name)) calls[name](this, id, ...args);
  }
}

// calls has what the page does for each call; those that only register a callback are not there.
const calls = {
  loaded(view) {
    view.ready = true;
    view.targets.clear();
    view.notify("features", { features: view.channel.features, changed: Object.keys(view.channel.features) });
    view.notifyContext(Object.keys(view.ownContext()));
    view.notify("visibility", { visible: view.visible, context: view.ownContext() });
    if (view.kind === "video_component") view.notify("position", { x: 0, y: 0 });
    view.notify("configuration", view.channel.configuration);
    view.authorize();
  },
  listen(view, _, target) {
    if (String(target).startsWith("whisper-") && target !== `whisper-${view.opaque}`) view.fail(`${target} is another viewer's`);
    view.targets.set(target, (view.targets.get(target) ?? 0) + 1);
  },
  unlisten(view, _, target) {
    view.targets.set(target, (view.targets.get(target) ?? 0) - 1);
  },
  send(view, _, target, contentType, message) {
    const refusal = view.isBroadcaster() && target === "broadcast" ? view.channel.deliver(target, contentType, message)
      : "only the broadcaster sends, and only to broadcast";
    if (refusal) view.fail(refusal);
  },
  "configuration.set"(view, _, segment, version, content) {
    const refusal = view.isBroadcaster() && segment === "broadcaster" ? view.channel.configure(segment, version, content)
      : "only the broadcaster sets the configuration, and only its segment broadcaster";
    if (refusal) view.fail(refusal);
  },
  async "actions.requestIdShare"(view) {
    if (!view.user || view.isLinked()) return;
    if (await view.confirm("Share your identity with this extension?", "Share")) view.share(true);
  },
  async "actions.followChannel"(view, _, channel) {
    view.notify("followed", { followed: await view.confirm(`Follow ${channel}?`, "Follow"), channel });
  },
  "actions.minimize"(view) {
    if (kinds[view.kind].player) view.show(false);
  },
  "bits.getProducts"(view, id) {
    const reply = view.channel.features.isBitsEnabled ? { value: view.channel.catalog() } : { error: "bits are not enabled" };
    view.notify("reply", { id, ...reply });
  },
  async "bits.useBits"(view, _, sku, loopback) {
    const product = view.channel.catalog().find((other) => other.sku === sku);
    const possible = product && view.user && view.channel.features.isBitsEnabled;
    const text = possible ? `Use ${product.cost.amount} bits for ${product.displayName}?` : `${sku} cannot be bought: no such product, no login, or no bits.`;
    const confirmed = possible && loopback || await view.confirm(text, possible ? "Use bits" : "OK");
    if (!possible || !confirmed) return view.notify("cancelled");
    try {
      reportPurchase(view, product, await ask("/receipt", { user: view.user, product: { sku, displayName: product.displayName, cost: product.cost } }));
    } catch (error) {
      view.fail(error.message);
      view.notify("cancelled");
    }
  },
};

// reportPurchase notifies the buyer's view of a purchase and, where the channel announces them,
// the others.
function reportPurchase(view, product, { transactionId, transactionReceipt }) {
  const domainID = `twitch.ext.${view.channel.clientId}`;
  const transaction = { displayName: `user${view.user}`, domainID, product, transactionId, transactionID: transactionId, userId: view.user };
  view.notify("transaction", { ...transaction, initiator: "CURRENT_USER", transactionReceipt });
  if (!view.channel.announced) return;
  for (const other of view.channel.views) {
    if (other !== view) other.notify("transaction", { ...transaction, initiator: "OTHER", transactionReceipt: "" });
  }
}
