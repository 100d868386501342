// What the page and its worker send each other.

import type { CheckOptions, ReceiptReport } from "../src/index.js";

export interface Request {
  receipt: string;
  options: Omit<CheckOptions, "progress" | "fetch" | "signal">;
}

export type Message = { progress: number } | { report: ReceiptReport } | { refused: string };
