/** A chat bot: `!vote 2` in the chat is a vote of its author. */
import { Acclaim, content, type Credential } from "acclaim-client";

export interface ChatMessage {
  id: string;
  userId: string;
  text: string;
}

/** Submits the votes of a batch of messages and returns why some were refused, by user. */
export async function submit(baseUrl: string, credential: Credential, id: string, messages: ChatMessage[]) {
  const acclaim = new Acclaim({ baseUrl, credential });
  const votes = messages.flatMap(({ id: key, userId, text }) => {
    const option = /^!vote (\d+)$/.exec(text.trim())?.[1];
    return option ? [{ user_id: userId, value: Number(option) - 1, key }] : []; // the key makes a repetition harmless
  });
  const refused = new Map<string, string>();
  for (let at = 0; at < votes.length; at += 1000) {
    const some = votes.slice(at, at + 1000);
    const { results } = await content(acclaim.api.POST("/votes", { params: { query: { id }, header: { "Idempotency-Key": "" } }, body: { votes: some } }));
    results.forEach((result, n) => {
      if (!result.accepted) refused.set(some[n]!.user_id, result.reason ?? "");
    });
  }
  return refused;
}
