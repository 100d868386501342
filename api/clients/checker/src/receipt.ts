// Receipts of votes.

import { type Bytes, Decoder, FormatError, base64, fromBase64, text, utf8 } from "./bytes.js";
import { type PollName, encodeName } from "./name.js";
import { type Proof, formatProof, parseProof } from "./proof.js";

// Receipt has the proofs of a vote and of its configuration in the poll's tree, and of that tree in
// the log.
export interface Receipt {
  name: PollName;
  nonce?: Bytes; // until the client adds it there is none
  vote: Proof;
  config: Proof;
  poll: Proof;
}

const header = "acclaim-receipt/v1\n", maxLength = 256 << 10;

export function formatReceipt(r: Receipt): string {
  const nonce = r.nonce ? `nonce ${base64(r.nonce)}\n` : "";
  return `${header}name ${base64(encodeName(r.name))}\n${nonce}--- vote\n${formatProof(r.vote)}--- config\n${formatProof(r.config)}--- poll\n${formatProof(r.poll)}`;
}

// parseReceipt reads the only text of a receipt.
export function parseReceipt(receipt: string): Receipt {
  if (utf8(receipt).length > maxLength) throw new FormatError("the receipt is too long");
  if (!receipt.startsWith(header)) throw new FormatError("the text is no acclaim-receipt/v1");
  let rest = receipt.slice(header.length);
  const parts = ["vote", "config", "poll"].map((part) => {
    const line = `--- ${part}\n`, at = rest.indexOf(line);
    if (at < 0) throw new FormatError(`the receipt has no part ${part}`);
    const before = rest.slice(0, at);
    rest = rest.slice(at + line.length);
    return before;
  });
  const r: Receipt = { ...parseHead(parts[0]!), vote: parseProof(parts[1]!), config: parseProof(parts[2]!), poll: parseProof(rest) };
  if (formatReceipt(r) !== receipt) throw new FormatError("the receipt is not in its only form");
  return r;
}

function parseHead(head: string): Pick<Receipt, "name" | "nonce"> {
  const [nameLine = "", nonceLine = ""] = head.split("\n");
  const d = new Decoder(fromBase64(nameLine.replace(/^name /, "")));
  const name = { client: text(d.block()), channel: text(d.block()), poll: text(d.block()) };
  d.end();
  if (nonceLine === "") return { name };
  const nonce = fromBase64(nonceLine.replace(/^nonce /, ""));
  if (nonce.length !== 16) throw new FormatError("the nonce of the receipt is not 16 bytes in base64");
  return { name, nonce };
}

// logOrigin is the name of the log that a receipt is of, as the receipt tells it.
export function logOrigin(r: Receipt): string {
  return r.poll.checkpoint.split("\n", 1)[0]!;
}
