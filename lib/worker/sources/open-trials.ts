import pLimit from 'p-limit';
import { resolveHost } from '../../alerts/channels/guarded-fetch.ts';
import { systemClock } from '../../clock.ts';
import type { GitHostConfig } from '../../config/git-host.ts';
import type { Environment } from '../../config/read.ts';
import { AppError } from '../../errors.ts';
import type { SourceTrial } from '../../records/sources/trial.ts';
import { askSizeOnHost } from './size-on-host.ts';
import { trySource } from './try-source.ts';

/** How many trials may run at once, and how many may wait. */
const AT_ONCE = 4;
const MAX_WAITING = 200;

/**
 * Trials for a server whose machine backs up. An administrator may name private addresses and folders of the machine:
 * that is what is backed up at home. Throws RATE_LIMITED while too many wait.
 */
export function openTrials(
  environment: Environment,
  config: GitHostConfig,
): (address: string, signal: AbortSignal) => Promise<SourceTrial> {
  const limit = pLimit(AT_ONCE);
  return (address, signal) => {
    if (limit.pendingCount >= MAX_WAITING) {
      throw new AppError('RATE_LIMITED', 'too many sources are being tried: try again later');
    }
    return limit(() => {
      const sizeOnHost = askSizeOnHost(config, { fetch, clock: systemClock, signal });
      const deps = { environment, signal, folder: '/', resolve: resolveHost, sizeOnHost };
      return trySource(deps, address);
    });
  };
}
