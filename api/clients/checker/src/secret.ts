// The secret of a vote, which the page draws before the vote and adds to the receipt after it.

import { base64, fromBase64 } from "./bytes.js";
import { type PollName, nonceHash, pollKey } from "./name.js";
import { formatReceipt, parseReceipt } from "./receipt.js";

// Secret has what the page keeps and what it sends, in base64.
export interface Secret {
  nonce: string;
  nonceHash: string; // of POST /vote
}

// makeSecret draws the secret of one vote.
export function makeSecret(name: PollName): Secret {
  const nonce = crypto.getRandomValues(new Uint8Array(16));
  return { nonce: base64(nonce), nonceHash: base64(nonceHash(pollKey(name), nonce)) };
}

// addNonce completes a receipt of GET /receipt. It throws for a text that is none.
export function addNonce(receipt: string, nonce: string): string {
  return formatReceipt({ ...parseReceipt(receipt), nonce: fromBase64(nonce) });
}
