import { shareInFlight, within } from '../../async.ts';
import type { ObservatoryConfig } from '../../config/observatory.ts';
import { messageWithCause } from '../../errors.ts';
import type { Deps } from '../../http/deps.ts';
import { toOwnServer } from '../../http/own-server.ts';
import { ping } from '../../records/ping.ts';

const DATABASE_WITHIN_MS = 3_000;
const BACKEND_WITHIN_MS = 2_000;

/** Asks the service API of the same deployment for its /health. Rejects if it cannot be asked. */
export type AskServiceApi = (signal: AbortSignal) => Promise<Response>;

/** What is wrong with each dependency of the observatory, without credentials; null if it works. */
export interface ReadinessFaults {
  database: string | null;
  backend: string | null;
}

/** Checks the dependencies of the observatory. Concurrent callers share a check, because anybody may call it. */
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

/** Null if the work succeeds, otherwise the error without credentials. */
async function faultOf(
  work: Promise<unknown>,
  { redactor }: Pick<AskingDeps, 'redactor'>,
): Promise<string | null> {
  try {
    await work;
    return null;
  } catch (error) {
    return redactor.text(messageWithCause(error));
  }
}

/** Asks BACKEND_URL for its /health if set, otherwise the service API of the same deployment. */
async function askBackend({ config, fetch, clock, askServiceApi }: AskingDeps) {
  const expired = new AbortController();
  const { BACKEND_URL: url } = config;
  const ask =
    url === undefined
      ? askServiceApi
      : (signal: AbortSignal) =>
          fetch(`${url}/health`, { ...toOwnServer(url), signal, redirect: 'manual' });
  try {
    const response = await within(BACKEND_WITHIN_MS, ask(expired.signal), clock);
    if (!response.ok) throw new Error(`it answered ${response.status}`);
  } finally {
    // Drops the body, which is not read.
    expired.abort();
  }
}
