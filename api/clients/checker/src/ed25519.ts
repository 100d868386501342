// Signatures of Ed25519: by WebCrypto where it has them, else by code that is loaded only then.

import { type Bytes, fromBase64 } from "./bytes.js";

async function verifyNative(key: Bytes, signature: Bytes, message: Bytes): Promise<boolean> {
  const imported = await crypto.subtle.importKey("raw", key, { name: "Ed25519" }, false, ["verify"]);
  return crypto.subtle.verify({ name: "Ed25519" }, imported, signature, message);
}

// The first test of RFC 8032, whose message is empty.
const testKey = "11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=";
const testSignature = "5VZDAMNgrHKQhuzMgG6CioSHfx645dl09HPgZSJJrAFVfuVlKNkQOPM+XSQPLomrWjpQe20BQenuUeVdb5rOCw==";

let native: Promise<boolean> | undefined;

// hasNative reports whether WebCrypto verifies Ed25519 here. It is absent from pages without TLS.
function hasNative(): Promise<boolean> {
  return (native ??= (async () => {
    try {
      return await verifyNative(fromBase64(testKey), fromBase64(testSignature), new Uint8Array());
    } catch {
      return false;
    }
  })());
}

export async function verifyEd25519(key: Bytes, signature: Bytes, message: Bytes): Promise<boolean> {
  if (!(await hasNative())) return (await import("./portable.js")).verifyPortable(key, signature, message);
  try {
    return await verifyNative(key, signature, message);
  } catch {
    return false;
  }
}
