import { Client, DatabaseError } from 'pg';

/**
 * Settings of every session. Servers are set up for long reports by default: compiling a statement just in time, or
 * starting workers for it, takes many times as long as our answers do.
 */
export const sessionSettings = { jit: 'off', max_parallel_workers_per_gather: '0' } as const;

/** SQL that applies the settings to the session. */
export const setSession = Object.entries(sessionSettings)
  .map(([name, value]) => `SET ${name} = ${value};`)
  .join(' ');

/**
 * Adds the settings to a URL, as options of the startup packet. Settings that the URL or PGOPTIONS already has take
 * precedence.
 */
export function withSessionSettings(url: string): string {
  const { connectionParameters } = new Client(url) as Client & {
    connectionParameters: { options?: string };
  };
  const ours = Object.entries(sessionSettings).map(([name, value]) => `-c ${name}=${value}`);
  const options = [...ours, connectionParameters.options ?? ''].join(' ').trim();
  const changed = new URL(url);
  changed.searchParams.set('options', options);
  // A driver may take "+" literally.
  changed.search = changed.search.replaceAll('+', '%20');
  return changed.href;
}

/** Whether a pooler has refused a connection because of its options, as PgBouncer and RDS Proxy do. */
export function refusesOptions(error: unknown): boolean {
  return (
    error instanceof DatabaseError &&
    (error.code === '08P01' || error.code === '0A000') &&
    /option|startup parameter/i.test(error.message)
  );
}
