/** The part of the platform's helper, window.Twitch.ext, that this extension uses. */
export interface Helper {
  /** Called with each new token: at the start, before the old one ends, and when the viewer shares the identity. */
  onAuthorized(callback: (authorization: { channelId: string; clientId: string; token: string; userId: string }) => void): void;
  onContext(callback: (context: { theme?: string }) => void): void;
  actions: { requestIdShare(): void };
  configuration: {
    broadcaster?: Segment;
    global?: Segment;
    onChanged(callback: () => void): void;
    set(segment: "broadcaster", version: string, content: string): void;
  };
  /** `isLinked`: the viewer shares the identity. `id` is then the user id. */
  viewer: { isLinked: boolean | null };
}

/** A segment of the platform's configuration service. */
export interface Segment {
  version: string;
  content: string;
}

declare global {
  interface Window {
    Twitch?: { ext?: Helper };
  }
}

/** Returns the helper, or undefined where the page is open outside of the platform. */
export function findHelper(): Helper | undefined {
  return window.Twitch?.ext;
}

/** Shows the page in the platform's theme, now and whenever a person changes it. */
export function followTheme(helper: Helper): void {
  helper.onContext(({ theme }) => {
    if (theme) document.documentElement.dataset.theme = theme;
  });
}
