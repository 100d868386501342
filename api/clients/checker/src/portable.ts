// Signatures of Ed25519 in browsers whose WebCrypto does not have them.

import { hashes, verify } from "@noble/ed25519";
import { sha512 } from "@noble/hashes/sha2.js";

import type { Bytes } from "./bytes.js";

hashes.sha512 = sha512; // WebCrypto's is absent from pages without TLS

export function verifyPortable(key: Bytes, signature: Bytes, message: Bytes): boolean {
  try {
    return verify(signature, message, key, { zip215: false });
  } catch {
    return false; // an encoding of no point
  }
}
