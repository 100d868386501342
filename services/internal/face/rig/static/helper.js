// The rig's window.Twitch.ext, after the platform's public reference. It runs in the frame of an
// extension, and the rig's page, which holds the frame, is the platform to it: calls go there as
// messages, and what the platform reports to the extension comes back as messages.
(() => {
  "use strict";

  const page = window.parent === window ? null : window.parent;
  const parameters = new URLSearchParams(location.search);
  const callbacks = new Map(); // by the name of what they receive
  const latest = new Map(); // arguments of the last call of each, for callbacks that come later
  const pending = new Map(); // questions to the page, by number
  let loopback = false;

  // The clock of the viewer's device, which may be wrong: the page sets by how much, in the name of
  // the frame.
  const ahead = Number(/^clock (-?\d+)$/.exec(window.name)?.[1] ?? 0) * 1000;
  const now = () => RightDate.now() + ahead, RightDate = Date;
  if (ahead !== 0) {
    window.Date = new Proxy(RightDate, {
      construct: (target, args, called) => Reflect.construct(target, args.length === 0 ? [now()] : args, called),
      apply: () => new RightDate(now()).toString(),
      get: (target, name) => (name === "now" ? now : Reflect.get(target, name)),
    });
  }

  function post(message) {
    // What cannot be copied, such as a function, becomes text as JSON has it.
    page?.postMessage(JSON.parse(JSON.stringify(message)), "*");
  }

  const call = (name, ...args) => post({ rig: "call", name, args });

  function ask(name, ...args) {
    return new Promise((resolve, reject) => {
      const id = pending.size + Math.random();
      pending.set(id, { resolve, reject });
      post({ rig: "call", name, args, id });
    });
  }

  // run calls one callback; its mistakes are the extension's, as uncaught errors.
  const run = (callback, args) => queueMicrotask(() => callback(...args));

  function fire(name, ...args) {
    latest.set(name, args);
    for (const callback of callbacks.get(name) ?? []) run(callback, args);
  }

  // registers returns a function that registers callbacks. Where repeat is set, a late callback
  // gets the last event at once.
  const registers = (name, repeat = true) => (callback) => {
    if (typeof callback !== "function") throw new TypeError(`${name} needs a function`);
    callbacks.set(name, [...(callbacks.get(name) ?? []), callback]);
    call(name);
    if (repeat && latest.has(name)) run(callback, latest.get(name));
  };

  const ext = {
    version: "1.1.1",
    environment: "production",
    anchor: parameters.get("anchor"),
    language: parameters.get("language"),
    locale: parameters.get("locale"),
    mode: parameters.get("mode"),
    platform: parameters.get("platform"),
    popout: parameters.get("popout") === "true",
    state: parameters.get("state"),

    onAuthorized: registers("onAuthorized"),
    onContext: registers("onContext"),
    onError: registers("onError", false),
    onHighlightChanged: registers("onHighlightChanged"),
    onPositionChanged: registers("onPositionChanged"),
    onVisibilityChanged: registers("onVisibilityChanged"),

    send: (target, contentType, message) =>
      call("send", target, contentType, typeof message === "string" ? message : JSON.stringify(message)),
    listen(target, callback) {
      if (typeof callback !== "function") throw new TypeError("listen needs a function");
      const name = `message ${target}`;
      callbacks.set(name, [...(callbacks.get(name) ?? []), callback]);
      call("listen", target);
    },
    unlisten(target, callback) {
      const name = `message ${target}`;
      callbacks.set(name, (callbacks.get(name) ?? []).filter((other) => other !== callback));
      call("unlisten", target);
    },

    actions: {
      followChannel: (channel) => call("actions.followChannel", channel),
      minimize: () => call("actions.minimize"),
      onFollow: registers("actions.onFollow", false),
      requestIdShare: () => call("actions.requestIdShare"),
    },
    bits: {
      getProducts: () => ask("bits.getProducts"),
      onTransactionCancelled: registers("bits.onTransactionCancelled", false),
      onTransactionComplete: registers("bits.onTransactionComplete", false),
      setUseLoopback(use = true) { loopback = use; call("bits.setUseLoopback", use); return use; },
      showBitsBalance: () => call("bits.showBitsBalance"),
      useBits: (sku) => call("bits.useBits", sku, loopback),
    },
    configuration: {
      broadcaster: undefined,
      developer: undefined,
      global: undefined,
      onChanged: registers("configuration.onChanged"),
      set: (segment, version, content) => call("configuration.set", segment, version, content),
    },
    features: {
      isBitsEnabled: false,
      isChatEnabled: false,
      isSubscriptionStatusAvailable: false,
      onChanged: registers("features.onChanged"),
    },
    rig: { log: (...values) => call("rig.log", ...values) },
    viewer: {
      opaqueId: null, id: null, role: null, isLinked: null, sessionToken: null, helixToken: null, subscriptionStatus: null,
      onChanged: registers("viewer.onChanged"),
    },
  };

  // What the page sends. Other names are ignored.
  const events = {
    authorized({ auth, viewer }) {
      Object.assign(ext.viewer, viewer);
      fire("onAuthorized", auth);
      fire("viewer.onChanged");
    },
    viewer(viewer) {
      Object.assign(ext.viewer, viewer);
      fire("viewer.onChanged");
    },
    configuration(segments) {
      Object.assign(ext.configuration, { broadcaster: undefined, developer: undefined, global: undefined }, segments);
      fire("configuration.onChanged");
    },
    features({ features, changed }) {
      Object.assign(ext.features, features);
      fire("features.onChanged", changed);
    },
    context: ({ context, changed }) => fire("onContext", context, changed),
    error: (reason) => fire("onError", reason),
    highlight: (on) => fire("onHighlightChanged", on),
    position: (position) => fire("onPositionChanged", position),
    visibility: ({ visible, context }) => fire("onVisibilityChanged", visible, context),
    message({ target, contentType, message }) {
      for (const callback of callbacks.get(`message ${target}`) ?? []) run(callback, [target, contentType, message]);
    },
    followed: ({ followed, channel }) => fire("actions.onFollow", followed, channel),
    transaction: (transaction) => fire("bits.onTransactionComplete", transaction),
    cancelled: () => fire("bits.onTransactionCancelled"),
    reply({ id, value, error }) {
      const question = pending.get(id);
      pending.delete(id);
      if (error) question?.reject(new Error(error));
      else question?.resolve(value);
    },
  };

  // The page is near and the platform is far: without this wait the extension would receive
  // events before all of its scripts have run.
  const parsed = document.readyState === "loading" ? new Promise((resolve) => document.addEventListener("DOMContentLoaded", resolve)) : Promise.resolve();
  window.addEventListener("message", async ({ source, data }) => {
    if (!page || source !== page || data?.rig !== "event" || !Object.hasOwn(events, data.name)) return;
    await parsed;
    events[data.name](data.value);
  });
  window.Twitch = Object.assign(window.Twitch ?? {}, { ext });
  call("loaded");
})();
