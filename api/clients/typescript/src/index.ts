/**
 * A client of Acclaim: typed requests, made from openapi.yaml, with credentials that are
 * renewed and requests that are repeated where that is safe, and events that resume.
 */
import { EventSourceParserStream } from "eventsource-parser/stream";
import createClient, { type Client } from "openapi-fetch";

import type { components, paths } from "./schema.js";

export type { components, paths };
export type Poll = components["schemas"]["Poll"];
export type PublicResult = components["schemas"]["PublicResult"];

/**
 * The value of the header Authorization: `<client id> <JWT>`, or an overlay key. As a
 * function it is asked for each request, and once more with a value that was refused.
 */
export type Credential = string | ((refused?: string) => string | Promise<string>);

export interface Options {
  /** The address of the API, such as `https://acclaim.example/v1`. */
  baseUrl: string;
  credential: Credential;
  /** How often a request is sent at most; default 4. */
  attempts?: number;
  fetch?: (request: Request) => Promise<Response>;
}

/** An answer other than success. */
export class AcclaimError extends Error {
  constructor(
    readonly status: number,
    readonly reason: string,
  ) {
    super(`the service answered ${status}: ${reason}`);
    this.name = "AcclaimError";
  }
}

/** An event of the service, or a message. */
export interface AcclaimEvent {
  /** `broadcast`, `global` or `whisper-<id>`. */
  target: string;
  /** Such as `vote_update:lunch`; `resync`: what was read may be outdated. */
  name: string;
  data: unknown;
}

export interface EventOptions {
  signal?: AbortSignal;
  /** Called each time the subscription is in force: what is read from then on is followed. */
  onSubscribed?: () => void;
  /** Called each time the subscription has ended and is tried again: what is shown may be old. */
  onInterrupted?: () => void;
}

/** Names the poll of a public result; the channel of a poll of all channels is empty. */
export interface ResultName {
  client: string;
  channel: string;
  poll: string;
}

export interface ResultOptions {
  signal?: AbortSignal;
  /** Called each time a read has failed and is tried again: what is shown may be old. */
  onInterrupted?: () => void;
  fetch?: typeof fetch;
}

/** The part of the platform's helper that this client uses. */
export interface PlatformHelper {
  onAuthorized(callback: (auth: { clientId: string; token: string }) => void): void;
}

/** Credentials of a page on the platform, whose helper gives a new token in time. */
export function fromPlatform(helper: PlatformHelper): Credential {
  let latest = "";
  let arrived = () => {};
  const first = new Promise<void>((resolve) => { arrived = resolve; });
  helper.onAuthorized(({ clientId, token }) => {
    latest = `${clientId} ${token}`;
    arrived();
  });
  return () => first.then(() => latest);
}

/** Takes the content out of an answer, or throws an AcclaimError. */
export async function content<T>(answer: Promise<{ data?: T; error?: unknown; response: Response }>): Promise<T> {
  const { data, error, response } = await answer;
  if (!response.ok) throw new AcclaimError(response.status, reasonOf(error));
  return data as T;
}

function reasonOf(body: unknown): string {
  return typeof body === "object" && body !== null && "reason" in body ? String(body.reason) : "";
}

export class Acclaim {
  /**
   * Every route of the contract: `api.GET("/vote", { params: { query: { id: "lunch" } } })`.
   * Writes have an `Idempotency-Key`, one of the caller's where there is one; an empty one
   * is none, for votes with keys of their own.
   */
  readonly api: Client<paths>;
  readonly #options: Required<Options>;

  constructor(options: Options) {
    this.#options = { attempts: 4, fetch: (request) => fetch(request), ...options };
    this.api = createClient<paths>({ baseUrl: options.baseUrl, fetch: (request) => this.#send(request) });
  }

  /**
   * Saves the configuration of a poll, which is strict unless `config` says otherwise. Once a
   * strict poll has votes, another question is refused with 409 without `keepVotes`.
   */
  async configurePoll(id: string, config: components["schemas"]["PollConfig"], keepVotes = false): Promise<void> {
    const body = { id, config: { strict: true, ...config }, ...(keepVotes && { keepVotes }) };
    await content(this.api.POST("/vote_config", { body }));
  }

  /**
   * Changes members of a poll's configuration and leaves the others as they are. Another question
   * of a strict poll with votes is refused with 409 without `keepVotes`.
   */
  async changePoll(id: string, changes: components["schemas"]["PollConfig"], keepVotes = false): Promise<void> {
    const body = { id, config: changes as Record<string, never>, ...(keepVotes && { keepVotes }) };
    await content(this.api.PATCH("/vote_config", { body }));
  }

  /** Deletes the votes of a poll. Its configuration stays. */
  async clearVotes(id: string): Promise<void> {
    await content(this.api.PATCH("/vote_config", { body: { id, config: {}, clearVotes: true } }));
  }

  /**
   * Receives the events of topics, or all that the caller may receive, until the signal
   * aborts or the service refuses. After an interruption it resumes: every message
   * arrives, and the latest value of everything else.
   */
  async *events(topics: string[] = [], { signal, onSubscribed, onInterrupted }: EventOptions = {}): AsyncGenerator<AcclaimEvent> {
    const query = new URLSearchParams(topics.map((topic) => ["topic", topic]));
    let last = "";
    for (let failures = 0; !signal?.aborted; failures++) {
      try {
        const headers = last ? { "Last-Event-ID": last } : {};
        const request = new Request(`${this.#options.baseUrl}/events?${query}`, { headers, ...(signal && { signal }) });
        const response = await this.#authorize(request);
        if (!response.ok) throw new AcclaimError(response.status, reasonOf(await response.json().catch(() => undefined)));
        failures = 0;
        onSubscribed?.();
        for await (const { id, event = "", data } of parse(response)) {
          last = id ?? last;
          const { event: name = "", data: content } = JSON.parse(data) as { event?: string; data?: unknown };
          yield { target: event, name: name.split(":").slice(2).join(":"), data: content }; // without environment and extension
        }
      } catch (error) {
        if (signal?.aborted) return;
        if (error instanceof AcclaimError && error.status < 500 && error.status !== 429) throw error;
        if (!(error instanceof AcclaimError || error instanceof TypeError)) throw error;
      }
      if (signal?.aborted) return;
      onInterrupted?.();
      await pause(failures, undefined, signal);
    }
  }

  /** Sends a request again where that may help and has no second effect. */
  async #send(request: Request): Promise<Response> {
    const writes = request.method === "POST" || request.method === "PATCH";
    if (writes && !request.headers.has("Idempotency-Key")) request.headers.set("Idempotency-Key", crypto.randomUUID());
    if (request.headers.get("Idempotency-Key") === "") request.headers.delete("Idempotency-Key");
    const known = !/\/overlay_keys$/.test(new URL(request.url).pathname) || !writes; // a route without keys
    for (let failures = 1; ; failures++) {
      const spent = failures >= this.#options.attempts;
      let response: Response | undefined;
      try {
        response = await this.#authorize(request.clone());
        const refused = response.status === 429 || response.status === 503; // nothing was stored
        if (spent || !(refused || (response.status >= 500 && known))) return response;
      } catch (error) {
        if (spent || !known || request.signal.aborted) throw error;
      }
      await pause(failures, response?.headers.get("Retry-After") ?? undefined, request.signal);
      request.signal.throwIfAborted();
    }
  }

  /** Sends a request with a credential, and once more with another one if that is refused. */
  async #authorize(request: Request): Promise<Response> {
    const { credential, fetch } = this.#options;
    const ask = async (refused?: string) => (typeof credential === "function" ? credential(refused) : credential);
    const value = await ask();
    const again = request.clone();
    request.headers.set("Authorization", value);
    const response = await fetch(request);
    if (response.status !== 401) return response;
    const other = await ask(value);
    if (other === value) return response;
    again.headers.set("Authorization", other);
    return fetch(again);
  }
}

/**
 * Follows the public result of a poll without a credential: yields it, null while there is none, and
 * then each other one, until the signal aborts or the service refuses. It reads once a second what any
 * cache may have, and less often while that fails. `origin` is such as `https://acclaim.example`,
 * with `/sandbox` behind it in the sandbox.
 */
export async function* followResult(origin: string, name: ResultName, { signal, onInterrupted, fetch: send = fetch }: ResultOptions = {}): AsyncGenerator<PublicResult | null> {
  const address = publicAddress(origin, [name.client, name.channel || "-", name.poll], "result.json");
  let tag: string | null | undefined; // null: there is none
  for (let failures = 0; !signal?.aborted; await (failures ? pause(failures, undefined, signal) : wait(1000, signal))) {
    try {
      const response = await send(address, { credentials: "omit", headers: tag ? { "If-None-Match": tag } : {}, ...(signal && { signal }) });
      if (response.ok) {
        const result = (await response.json()) as PublicResult;
        tag = response.headers.get("ETag");
        yield result;
      } else if (response.status === 404) {
        await response.body?.cancel();
        if (tag !== null) yield null;
        tag = null;
      } else if (response.status !== 304) {
        throw new AcclaimError(response.status, reasonOf(await response.json().catch(() => undefined)));
      }
      failures = 0;
    } catch (error) {
      if (signal?.aborted) return;
      if (error instanceof AcclaimError && error.status < 500 && error.status !== 429) throw error;
      if (!(error instanceof AcclaimError || error instanceof TypeError)) throw error;
      failures++;
      onInterrupted?.();
    }
  }
}

/**
 * Returns the address of a picture of a channel, which `pictures` of a poll names. `origin` is that of
 * `followResult`.
 */
export function pictureAddress(origin: string, client: string, channel: string, picture: string): string {
  return publicAddress(origin, [client, channel, picture], "picture.png");
}

function publicAddress(origin: string, elements: string[], file: string): string {
  return `${origin}/public/${elements.map(encodeURIComponent).join("/")}/${file}`;
}

async function* parse(response: Response) {
  if (!response.body) return;
  yield* response.body.pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array<ArrayBuffer>>).pipeThrough(new EventSourceParserStream());
}

/** Waits for as long as the service asks, else for twice as long after each failure. */
function pause(failures: number, retryAfter?: string, signal?: AbortSignal): Promise<void> {
  return wait(retryAfter ? 1000 * Number(retryAfter) : Math.min(500 * 2 ** failures, 30_000) * (0.5 + Math.random() / 2), signal);
}

/** Waits until a time has passed or the signal aborts. */
function wait(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", end); // the signal outlives many pauses
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal?.addEventListener("abort", end);
  });
}
