/** The button with which a viewer checks a vote, the verdict, and the receipt to take away. */
import type { Verdict } from "./checking.js";
import { say } from "./texts.js";

export interface CheckProps {
  checking: boolean;
  verdict: Verdict | undefined;
  /** Whether the key of the log comes from the backend that is checked. */
  sameServer: boolean;
  onCheck(): void;
}

export function VoteCheck({ checking, verdict, sameServer, onCheck }: CheckProps) {
  return (
    <div class="checking">
      <button type="button" class="quiet" aria-disabled={checking} onClick={() => { if (!checking) onCheck(); }}>{say("checkVote")}</button>
      <p class="verdict" role="status" data-kind={verdict?.kind}>{checking ? say("checking") : verdict?.text}</p>
      {verdict?.receipt && (
        <details>
          <summary>{say("receipt")}</summary>
          <p class="hint">{say("receiptHint")}</p>
          <textarea readonly rows={4} aria-label={say("receipt")} value={verdict.receipt} />
          <button type="button" class="quiet" onClick={(event) => copy(event.currentTarget)}>{say("copyReceipt")}</button>
          {sameServer && <p class="hint">{say("sameServer")}</p>}
        </details>
      )}
    </div>
  );
}

/** Copies the text above the button. The platform's frames allow neither downloads nor the newer clipboard. */
function copy(button: HTMLElement): void {
  const area = button.parentElement?.querySelector("textarea");
  area?.select();
  document.execCommand("copy");
}
