import type { Database } from '../../../lib/database/database.ts';
import { CUT_SHORT } from '../../../lib/search/search.ts';
import type { MailService } from '../../support/mail.ts';
import type { ChatModel } from './chat-model.ts';

/** What came of a request while a part was broken. */
export interface Seen {
  /** What its client saw. */
  seen: string;
  /** What was stored; empty if nothing was. */
  stored: string;
}

/** A server, and direct access to the parts behind it, past the proxy. */
export interface Ground {
  url: string;
  db: Database;
  chat: ChatModel;
  mail: MailService;
  /** The model for new generations. */
  embeddingModel: string;
  /** Access tokens of two users, one of whom has no key of her own yet. */
  tokens: { ada: string; grace: string };
  /** Headers that make the requests under one fault count for their own address. */
  address: Record<string, string>;
  /** Different for each fault, to tell apart what is stored. */
  label: string;
}

/** The two moments at which all surfaces wait for each other. */
export interface Phases {
  /** Called when everything is prepared; resolves when the part is broken. */
  broken(): Promise<void>;
  /** Called when the client has its answer; resolves when the part is back. */
  repaired(): Promise<void>;
}

/**
 * One way to use a part: prepares what it needs, is used while the part is broken, reports what was seen, and resolves
 * when it works again. Throws when it does not.
 */
export type Surface<On = Ground> = (ground: On, phases: Phases) => Promise<Seen>;

/** The outcome of a surface that works, with nothing more to report. */
export const WORKS = 'works';

/** A request that is made under the fault, and afterwards again until it works. */
export function request<On>(
  ask: (ground: On, attempt: string) => Promise<string>,
  stored: (ground: On, attempt: string) => Promise<string> = async () => '',
): Surface<On> {
  return async (ground, phases) => {
    await phases.broken();
    const seen = await ask(ground, 'first');
    await phases.repaired();
    const kept = await stored(ground, 'first');
    await untilWorks((attempt) => ask(ground, attempt));
    return { seen, stored: kept };
  };
}

/** How long to wait for something at all. The caller judges whether it came in time. */
const GIVEN_UP_AFTER_MS = 30_000;

/** Repeats a request until it works, with a different name for each attempt. */
async function untilWorks(ask: (attempt: string) => Promise<string>): Promise<void> {
  const until = performance.now() + GIVEN_UP_AFTER_MS;
  for (let attempt = 1; ; attempt += 1) {
    const seen = await ask(`again-${attempt}`);
    if (seen.startsWith(WORKS)) return;
    if (performance.now() > until)
      throw new Error(`after the part came back, it still answers ${seen}`);
    await pause(100);
  }
}

/** Polls until there is a result. */
export async function untilThere<Value>(
  look: () => Value | null | Promise<Value | null>,
  what: string,
  ms = GIVEN_UP_AFTER_MS,
): Promise<Value> {
  const until = performance.now() + ms;
  for (;;) {
    const found = await look();
    if (found !== null) return found;
    if (performance.now() > until) throw new Error(`without ${what} after ${ms} ms`);
    await pause(20);
  }
}

/** Waits in real time, because the processes under test are separate ones. */
export const pause = (ms: number) => new Promise<void>((done) => setTimeout(done, ms));

/** Describes an answer in few words: `works`, or its status and code. */
export async function describeAnswer(response: Response): Promise<string> {
  const text = await response.text();
  const body = text.startsWith('{') ? JSON.parse(text) : {};
  if (response.ok) {
    return describeSuccess(body.data?.degraded_reason);
  }
  return `${response.status} ${body.error?.code ?? body.database ?? body.error ?? ''}`.trim();
}

const UUID = /[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g;

/** Removes the parts of a text that differ each time. */
export const withoutIds = (text: string) => text.replace(UUID, '…');

/**
 * Reasons that are unrelated to the broken part: without a generation, a search is as good as it can be, and a machine
 * that is busy with all surfaces at once may need longer than a search may take.
 */
const usualReasons: readonly unknown[] = ['no embedding generation is active', CUT_SHORT];

/** Describes a successful search, which says why it is not the best possible one. */
export function describeSuccess(reason: unknown): string {
  const reasons = typeof reason === 'string' ? reason.split('; ') : [];
  const unusual = reasons.filter((it) => !usualReasons.includes(it));
  return unusual.length === 0 ? WORKS : `${WORKS}, degraded: ${unusual.join('; ')}`;
}
