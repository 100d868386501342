/** Actions that take effect after a wait, in which a person can take them back. They have no undo afterwards. */
import { say } from "./texts.js";

const waitsFor = 8; // seconds

export class Wait {
  left = waitsFor;
  readonly #timer: ReturnType<typeof setInterval>;

  /** `describe` returns what happens in a number of seconds; `done` follows the action or its taking back. */
  constructor(readonly describe: (left: number) => string, action: () => Promise<void>, readonly draw: () => void, readonly done: () => void) {
    this.#timer = setInterval(() => {
      this.left--;
      if (this.left > 0) return this.draw();
      this.takeBack();
      void action();
    }, 1000);
  }

  takeBack(): void {
    clearInterval(this.#timer);
    this.done();
  }
}

/** Preact calls it when the button comes and goes, and not at each drawing, because it is always the same function. */
const takeFocus = (button: HTMLButtonElement | null) => button?.focus();

export function WaitBar({ wait }: { wait: Wait }) {
  return (
    <p class="wait">
      <span id="wait">{wait.describe(wait.left)}</span>
      <button ref={takeFocus} type="button" aria-describedby="wait" onClick={() => wait.takeBack()}>{say("takeBack")}</button>
    </p>
  );
}
