/**
 * What the extension is configured with. The platform's configuration service has it as JSON:
 * the segment `global` is yours, for all channels; the segment `broadcaster` is what the
 * broadcaster saves in the view `config`.
 */
import type { Helper, Segment } from "./platform.js";

/** The address of your backend, for channels whose configuration names none. CHANGE THIS FIRST. */
export const defaultBackend = "http://127.0.0.1:8080";

export interface Template {
  prompt: string;
  options: string[];
}

export interface Settings {
  /** The origin of the backend, such as https://acclaim.example. */
  backend: string;
  templates: Template[];
}

/**
 * Returns the verifier key of the backend's log of results, "" for none. The global segment has it as
 * `logKey`: the platform keeps it, so that the backend cannot show viewers another one.
 */
export function readLogKey({ configuration }: Pick<Helper, "configuration">): string {
  const { logKey } = parse(configuration.global);
  return typeof logKey === "string" ? logKey : "";
}

/** Returns the settings of the channel. */
export function readSettings({ configuration }: Pick<Helper, "configuration">): Settings {
  const global = parse(configuration.global), broadcaster = parse(configuration.broadcaster);
  return {
    backend: findOrigin(broadcaster.backend) ?? readExtensionBackend({ configuration }),
    templates: [broadcaster.templates, global.templates].find(Array.isArray)?.filter(isTemplate) ?? [],
  };
}

/** Returns the address of the backend for channels that have none of their own. */
export function readExtensionBackend({ configuration }: Pick<Helper, "configuration">): string {
  return findOrigin(parse(configuration.global).backend) ?? defaultBackend;
}

/** Returns the broadcaster's own address of the backend, "" for none. */
export function readOwnBackend({ configuration }: Helper): string {
  return findOrigin(parse(configuration.broadcaster).backend) ?? "";
}

/** Saves the broadcaster's settings. Open views receive them when they open the next time. */
export function saveSettings(helper: Helper, settings: Settings): void {
  helper.configuration.set("broadcaster", "1", JSON.stringify(settings));
}

/**
 * Returns the origin that an address consists of, or undefined. It uses https, or is on this machine.
 * The platform lets pages ask only what the extension's version allows, so no broadcaster can
 * direct viewers' tokens elsewhere.
 */
export function findOrigin(address: unknown): string | undefined {
  if (typeof address !== "string" || !URL.canParse(address)) return undefined;
  const { protocol, hostname, pathname, search, hash, origin } = new URL(address);
  const local = protocol === "http:" && ["localhost", "127.0.0.1", "[::1]"].includes(hostname);
  return (protocol === "https:" || local) && pathname + search + hash === "/" ? origin : undefined;
}

function parse(segment: Segment | undefined): Record<string, unknown> {
  try {
    return Object(JSON.parse(segment?.content ?? "{}"));
  } catch {
    return {}; // an earlier version, or another program, wrote it
  }
}

function isTemplate(value: Partial<Template> | null): value is Template {
  return typeof value?.prompt === "string" && Array.isArray(value.options) && value.options.every((option) => typeof option === "string");
}
