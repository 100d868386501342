// Signatures of Ed25519 in browsers whose WebCrypto does not have them.

import { ed25519 } from "@noble/curves/ed25519.js";

import type { Bytes } from "./bytes.js";

export function verifyPortable(key: Bytes, signature: Bytes, message: Bytes): boolean {
  try {
    return ed25519.verify(signature, message, key, { zip215: false });
  } catch {
    return false; // an encoding of no point
  }
}
