import { TEST_TOKEN } from '../../support/mcp.ts';
import { REPORT_QUESTION } from './world.ts';

/** Something that requests need on another connection while it is open, such as a stream. */
export interface HeldOpen {
  /** Its current id. */
  id(): string;
  close(): Promise<void>;
}

/** Keeps an MCP session open, and opens a new one when it has ended. Resolves when its id is known. */
export function holdSession(url: string): Promise<HeldOpen> {
  const headers = { Authorization: `Bearer ${TEST_TOKEN}` };
  return hold((signal) => fetch(`${url}/sse`, { headers, signal }), /sessionId=([\w-]+)/);
}

/** Keeps a chat turn waiting for a person, and starts another one when it was decided or has expired. */
export function holdConfirmation(url: string, token: string): Promise<HeldOpen> {
  return hold(
    (signal) =>
      fetch(`${url}/chat/stream`, {
        method: 'POST',
        headers: {
          Authorization: `Bearer ${token}`,
          'Content-Type': 'application/json',
          'X-Forwarded-For': `10.1.${Math.floor(Math.random() * 250)}.${Math.floor(Math.random() * 250)}`,
        },
        body: JSON.stringify({ question: REPORT_QUESTION }),
        signal,
      }),
    /"confirm_id":"([\w-]+)"/,
  );
}

async function hold(
  open: (signal: AbortSignal) => Promise<Response>,
  pattern: RegExp,
): Promise<HeldOpen> {
  const closing = new AbortController();
  const first = Promise.withResolvers<void>();
  let id = '';
  async function follow(): Promise<void> {
    while (!closing.signal.aborted) {
      const response = await open(closing.signal);
      if (!response.ok) throw new Error(`${response.status} ${await response.text()}`);
      let text = '';
      for await (const chunk of response.body ?? []) {
        text = (text + Buffer.from(chunk).toString('latin1')).slice(-5_000);
        const found = pattern.exec(text)?.[1];
        if (found === undefined) continue;
        id = found;
        text = '';
        first.resolve();
      }
    }
  }
  const following = follow().catch((error: unknown) => {
    if (!closing.signal.aborted) first.reject(error);
  });
  await first.promise;
  return {
    id: () => id,
    async close() {
      closing.abort();
      await following;
    },
  };
}
