import { shareInFlight, within } from '../async.ts';
import type { ObservatoryConfig } from '../config/observatory.ts';
import type { Deps } from '../deps.ts';
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
export function shareReadiness(deps: AskingDeps): () => Promise<ReadinessFaults> {
  const { db, clock } = deps;
  const ask = async () => {
    const [database, backend] = await Promise.all([
      faultOf(within(DATABASE_WITHIN_MS, ping(db), clock), deps),
      faultOf(askBackend(deps), deps),
    ]);
    return { database, backend };
  };
  return shareInFlight(ask, { clock, maxMs: DATABASE_WITHIN_MS });
}

interface AskingDeps
  extends Pick<Deps<ObservatoryConfig>, 'db' | 'clock' | 'config' | 'fetch' | 'redactor'> {
  askServiceApi: AskServiceApi;
}

/** Null when it goes well, else what is wrong, without credentials. */
async function faultOf(
  work: Promise<unknown>,
  { redactor }: Pick<AskingDeps, 'redactor'>,
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
async function askBackend({ config, fetch, clock, askServiceApi }: AskingDeps) {
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
