// The check runs in a worker, so that the page stays usable during a recount.

import { checkReceipt } from "../src/index.js";
import type { Message, Request } from "./messages.js";

const send = (message: Message): void => self.postMessage(message);

self.addEventListener("message", async ({ data }: MessageEvent<Request>) => {
  try {
    const report = await checkReceipt(data.receipt, {
      ...data.options, progress: (done, all) => send({ progress: done / all }), beforeRecount: (before) => send({ before }),
    });
    send({ report });
  } catch (error) {
    send({ refused: error instanceof Error ? error.message : String(error) });
  }
});
