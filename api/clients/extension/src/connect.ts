/** The connection to the backend: who asks, what is followed, and whether what is shown is live. */
import { Acclaim, AcclaimError, fromPlatform, type AcclaimEvent } from "acclaim-client";

import type { Helper } from "./platform.js";
import { readSettings } from "./settings.js";
import { say } from "./texts.js";

export interface Connection {
  /** `over`: the page has stopped, for `reason`, until the platform gives a new token. */
  state: "starting" | "live" | "lost" | "over";
  reason?: string;
  /** When what is shown was last known to be live, in milliseconds. */
  since?: number | undefined;
}

export interface Page {
  /** Names of events, or beginnings of names followed by `*`. */
  readonly topics: string[];
  /** Reads all that is shown. It is called each time events may have been missed. */
  read(acclaim: Acclaim, signal: AbortSignal): Promise<void>;
  hear(event: AcclaimEvent): void;
  report(connection: Connection): void;
}

/**
 * Follows the backend for a page, and begins again with each token and each change of the network.
 * It returns a function that begins again, for a page whose topics have changed.
 */
export function connect(helper: Helper, page: Page): () => void {
  const credential = fromPlatform(helper);
  let backend = "", running: AbortController | undefined;
  let live = false, since: number | undefined;

  const report = (state: Connection["state"], reason = "") => {
    if (state === "live") since = undefined;
    else if (live) since = Date.now();
    live = state === "live";
    page.report({ state, reason, since });
  };
  const begin = () => {
    running?.abort();
    running = new AbortController();
    ({ backend } = readSettings(helper));
    void new Follower(new Acclaim({ baseUrl: `${backend}/v1/e`, credential }), page, running.signal, report).run();
  };

  helper.onAuthorized(begin); // the new token may be of a viewer who has just logged in
  helper.configuration.onChanged(() => {
    if (running && readSettings(helper).backend !== backend) begin();
  });
  for (const change of ["online", "offline"]) addEventListener(change, () => running && begin());
  return begin;
}

const pauseAfterFailure = 5000; // milliseconds

class Follower {
  #subscribed = false;
  #reading: Promise<void> = Promise.resolve();

  constructor(
    readonly acclaim: Acclaim,
    readonly page: Page,
    readonly signal: AbortSignal,
    readonly tell: (state: Connection["state"], reason?: string) => void,
  ) {}

  /** Follows events until the signal aborts or the backend refuses. */
  async run(): Promise<void> {
    const onSubscribed = () => { this.#subscribed = true; this.#read(); };
    const onInterrupted = () => { this.#subscribed = false; this.#report("lost"); };
    try {
      for await (const event of this.acclaim.events(this.page.topics, { signal: this.signal, onSubscribed, onInterrupted })) {
        if (event.name === "resync") this.#read();
        else if (!this.signal.aborted) this.page.hear(event);
      }
    } catch (error) {
      if (!(error instanceof AcclaimError)) throw error;
      this.#refuse(error);
    }
  }

  /** Reads once the read before has ended, so that an older answer never replaces a newer one. */
  #read(): void {
    this.#reading = this.#reading.then(() => this.#readUntilDone());
  }

  async #readUntilDone(): Promise<void> {
    while (!this.signal.aborted) {
      try {
        await this.page.read(this.acclaim, this.signal);
        if (this.#subscribed) this.#report("live");
        return;
      } catch (error) {
        if (error instanceof AcclaimError && error.status < 500 && error.status !== 429) return this.#refuse(error);
        this.#report("lost");
        await new Promise((resolve) => setTimeout(resolve, pauseAfterFailure));
      }
    }
  }

  #refuse({ status, reason }: AcclaimError): void {
    this.#report("over", status === 401 ? say("ended") : say("refused", { reason }));
  }

  #report(state: Connection["state"], reason?: string): void {
    if (!this.signal.aborted) this.tell(state, reason);
  }
}

/** Returns why a request failed, for the person who asked for it. */
export function explain(error: unknown): string {
  if (!(error instanceof AcclaimError)) return say("offline");
  if (error.status === 401) return say("ended");
  if (error.status === 429 || error.status === 503) return say("busy");
  return say("refused", { reason: error.reason });
}
