import type { ObservatoryConfig } from '../platform/config/observatory.ts';
import type { Deps } from '../platform/deps.ts';
import { shareUnderWay } from '../platform/share-under-way.ts';
import { within } from '../platform/within.ts';
import { ping } from '../records/ping.ts';
import type { AskServiceApi } from './service-api.ts';

const DATABASE_WITHIN_MS = 3_000;
const BACKEND_WITHIN_MS = 2_000;

/** What is wrong with what the observatory needs, without credentials; null where nothing is. */
export interface ReadinessFaults {
  database: string | null;
  backend: string | null;
}

/**
 * Asks what the observatory needs, once for all who ask while it is under way: anybody may, as often as they
 * like.
 */
export function shareReadiness(handles: AskingHandles): () => Promise<ReadinessFaults> {
  const { db, clock } = handles;
  const ask = async () => {
    const [database, backend] = await Promise.all([
      faultOf(within(DATABASE_WITHIN_MS, ping(db), clock), handles),
      faultOf(askBackend(handles), handles),
    ]);
    return { database, backend };
  };
  return shareUnderWay(ask, { clock, maxMs: DATABASE_WITHIN_MS });
}

interface AskingHandles
  extends Pick<Deps<ObservatoryConfig>, 'db' | 'clock' | 'config' | 'fetch' | 'redactor'> {
  askServiceApi: AskServiceApi;
}

/** Null when it goes well, else what is wrong, without credentials. */
async function faultOf(
  work: Promise<unknown>,
  { redactor }: Pick<AskingHandles, 'redactor'>,
): Promise<string | null> {
  try {
    await work;
    return null;
  } catch (error) {
    const { message, cause } = error instanceof Error ? error : new Error(String(error));
    return redactor.text(cause instanceof Error ? `${message}: ${cause.message}` : message);
  }
}

/** BACKEND_URL's /health when it is set, else that of the service API of the same deployment. */
async function askBackend({ config, fetch, clock, askServiceApi }: AskingHandles) {
  const expired = new AbortController();
  const ask =
    config.BACKEND_URL === undefined
      ? askServiceApi
      : (signal: AbortSignal) =>
          fetch(`${config.BACKEND_URL}/health`, { signal, redirect: 'manual' });
  try {
    const response = await within(BACKEND_WITHIN_MS, ask(expired.signal), clock);
    if (!response.ok) throw new Error(`it answers ${response.status}`);
  } finally {
    // The body is not read.
    expired.abort();
  }
}
