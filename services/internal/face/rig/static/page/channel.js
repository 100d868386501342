// The channel that all views are in: its stream's context, the platform's configuration service,
// the products for bits, the features, and the messages between views.

import { ask, keep, remembered } from "./dom.js";

export const segments = ["broadcaster", "developer", "global"];
const maxContent = 5 * 1024; // bytes of a segment, and of a message

const size = (text) => new TextEncoder().encode(text).length;

export class Channel {
  constructor(settings, log) {
    Object.assign(this, settings); // clientId, channel, extension, api, views
    this.files = settings.views;
    this.log = log;
    this.views = new Set();
    this.sharing = new Set(); // users who share their identity
    this.configuration = remembered(`configuration ${this.clientId} ${this.channel}`, {});
    this.products = remembered(`products ${this.clientId}`, "spoons 10 Ten spoons\ncake 100 A cake");
    this.atOnce = false; // whether open views receive a changed configuration
    this.announced = false; // whether all views receive a purchase
    this.features = { isBitsEnabled: true, isChatEnabled: true, isSubscriptionStatusAvailable: true };
    this.context = {
      arePlayerControlsVisible: true, bitrate: 6000, bufferSize: 3, displayResolution: "640x360", game: "Tower of Tea",
      hlsLatencyBroadcaster: 3, isFullScreen: false, isMuted: false, isPaused: false, isTheatreMode: false, language: "en",
      playbackMode: "video", theme: "light", videoResolution: "1920x1080", volume: 0.5,
    };
  }

  notifyAll(name, value) {
    for (const view of this.views) view.notify(name, value);
  }

  setContext(changes) {
    Object.assign(this.context, changes);
    for (const view of this.views) view.notifyContext(Object.keys(changes));
  }

  setFeature(name, on) {
    this.features[name] = on;
    this.notifyAll("features", { features: this.features, changed: [name] });
  }

  // configure sets a segment of the configuration, which this browser keeps. It returns why
  // it does not.
  configure(segment, version, content) {
    if (!segments.includes(segment)) return `${segment} is not a segment`;
    if (typeof content !== "string" || size(content) > maxContent) return "content must be a text of at most 5 KB";
    this.configuration = { ...this.configuration, [segment]: { version: String(version ?? ""), content } };
    keep(`configuration ${this.clientId} ${this.channel}`, this.configuration);
    if (this.atOnce) this.notifyAll("configuration", this.configuration);
    this.onconfigured?.();
  }

  // catalog returns the products: one a line, as sku, bits and name.
  catalog() {
    return this.products.split("\n").map((line) => /^(\S+)\s+(\d+)\s+(.+)$/.exec(line.trim())).filter(Boolean)
      .map(([, sku, amount, displayName]) => ({ sku, displayName, cost: { amount: Number(amount), type: "bits" }, inDevelopment: true }));
  }

  setProducts(text) {
    this.products = text;
    keep(`products ${this.clientId}`, text);
  }

  // deliver hands a message to the views that listen to its target, and returns why it does not.
  deliver(target, contentType, message) {
    if (typeof message !== "string" || size(message) > maxContent) return "a message has at most 5 KB";
    for (const view of this.views) {
      if (view.listens(target)) view.notify("message", { target, contentType, message });
    }
  }

  // follow delivers the program's events, as its pubsub sink would by the platform, and
  // connects again before its token ends.
  async follow() {
    clearTimeout(this.renewal);
    try {
      const { token, expires } = await ask("/token", { role: "viewer" });
      this.events?.close();
      this.events = new EventSource(`/v1/events?access_token=${encodeURIComponent(`${this.clientId} ${token}`)}`);
      for (const target of ["broadcast", "global"]) {
        this.events.addEventListener(target, ({ data }) => {
          const refusal = this.deliver(target, "application/json", data);
          if (refusal) this.log.add("program", "!", target, [refusal]);
        });
      }
      this.renewal = setTimeout(() => this.follow(), (expires * 1000 - Date.now()) * 0.9);
    } catch (error) {
      this.log.add("rig", "!", "events", [error.message]);
      this.renewal = setTimeout(() => this.follow(), 5000);
    }
  }
}
