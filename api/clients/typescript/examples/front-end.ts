/** An extension's front end: a poll whose bars move while viewers vote. */
import { Acclaim, AcclaimError, content, fromPlatform, type PlatformHelper } from "acclaim-client";

export interface View {
  ask(prompt: string, options: string[], choose: (option: number) => void): void;
  show(votes: number[], chosen: number | undefined): void;
  complain(reason: string): void;
}

export async function run(baseUrl: string, helper: PlatformHelper, id: string, view: View, signal: AbortSignal) {
  const acclaim = new Acclaim({ baseUrl, credential: fromPlatform(helper) });
  const query = { params: { query: { id } } };
  let chosen: number | undefined;

  const { prompt, options } = await content(acclaim.api.GET("/poll", query));
  view.ask(prompt, options, async (value) => {
    try {
      const stats = await content(acclaim.api.POST("/vote", { ...query, body: { value } }));
      chosen = value;
      view.show(stats.specific ?? [], chosen);
    } catch (error) {
      if (!(error instanceof AcclaimError)) throw error;
      view.complain(error.reason); // such as "poll is closed"
    }
  });

  async function read() {
    const stats = await content(acclaim.api.GET("/vote", query));
    chosen = stats.vote ?? chosen;
    view.show(stats.specific ?? [], chosen);
  }

  // What is read once the subscription is in force is followed by every later change.
  for await (const event of acclaim.events([`vote_update:${id}`], { signal, onSubscribed: read })) {
    if (event.name === "resync") await read();
    else view.show((event.data as { stats: { specific?: number[] } }).stats.specific ?? [], chosen);
  }
}
