/** A receiver of webhooks: it accepts events that the service has signed, each once. */
import { createServer, type Server } from "node:http";
import { text } from "node:stream/consumers";

import { Webhook } from "standardwebhooks";

export interface Delivery {
  event: string;
  data: unknown;
}

/** Calls handle for each event; the secret begins with `whsec_`. */
export function receive(secret: string, handle: (delivery: Delivery) => Promise<void>): Server {
  const webhook = new Webhook(secret);
  const handled = new Set<string>(); // a real receiver keeps the ids in its database

  return createServer(async (request, response) => {
    const body = await text(request);
    let delivery: Delivery;
    try {
      delivery = webhook.verify(body, request.headers as Record<string, string>) as Delivery;
    } catch {
      response.writeHead(401).end();
      return;
    }
    const id = String(request.headers["webhook-id"]);
    if (!handled.has(id)) {
      await handle(delivery); // a failure is no 2xx: the service repeats the delivery
      handled.add(id);
    }
    response.writeHead(204).end();
  });
}
