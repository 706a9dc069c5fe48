import { readFileSync } from 'node:fs';
import { isInNetworks, type Network } from './network.ts';

/** How many connections a server keeps open. */
export interface ConnectionLimits {
  total: number;
  perAddress: number;
  /** Addresses that many clients share, such as proxies: only the total holds for them. */
  shared: readonly Network[];
}

/** Enough for a busy server, and no more memory than a small machine has. */
const MAX_TOTAL = 4_096;
const MAX_PER_ADDRESS = 1_024;
/** What is assumed where the system does not say how many files a process may open. */
const USUAL_FILE_LIMIT = 1_024;

/**
 * Limits for a process that may open `fileLimit` files. A quarter of them is left for the database, for git
 * and for files, and one address leaves half of the rest to the others.
 */
export function chooseConnectionLimits(
  shared: readonly Network[],
  fileLimit: number = readFileLimit(),
): ConnectionLimits {
  const total = Math.max(2, Math.min(MAX_TOTAL, Math.floor(fileLimit * 0.75)));
  return { total, perAddress: Math.min(MAX_PER_ADDRESS, Math.floor(total / 2)), shared };
}

/** Do the limits hold for the connections of this address together? */
export function isLimitedAlone(address: string, { shared }: ConnectionLimits): boolean {
  return !isInNetworks(address, shared);
}

/** How many files this process may open: Linux tells it. */
function readFileLimit(): number {
  let limits = '';
  try {
    limits = readFileSync('/proc/self/limits', 'utf8');
  } catch {
    return USUAL_FILE_LIMIT; // another system, or one that does not show it
  }
  const [, soft] = /^Max open files\s+(\d+)/m.exec(limits) ?? [];
  return soft === undefined ? Number.POSITIVE_INFINITY : Number(soft);
}
