// What the tests share with those of api/verifiable.

import { readFile } from "node:fs/promises";
import path from "node:path";

const verifiable = path.resolve(import.meta.dirname, "../../../verifiable");

export const testdata = path.join(verifiable, "testdata");
export const read = (name) => readFile(path.join(testdata, name), "utf8");
export const readSource = (name) => readFile(path.join(verifiable, name), "utf8");
export const vectors = JSON.parse(await read("vectors.json"));
export const bytes = (hex) => new Uint8Array(Buffer.from(hex, "hex"));
export const fromBase64 = (text) => new Uint8Array(Buffer.from(text, "base64"));
