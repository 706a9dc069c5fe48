import { z } from 'zod';
import { archiveVariables } from '../../lib/config/archives.ts';
import { backupsVariables } from '../../lib/config/backups.ts';
import { gitHostVariables } from '../../lib/config/git-host.ts';
import { listenVariables } from '../../lib/config/listen.ts';
import { liveSurfaceVariables } from '../../lib/config/live.ts';
import { localVariables } from '../../lib/config/local/local.ts';
import { mcpSurfaceVariables } from '../../lib/config/mcp.ts';
import { observatoryVariables } from '../../lib/config/observatory.ts';
import { ConfigError, readConfig } from '../../lib/config/read.ts';
import { redisVariables } from '../../lib/config/redis.ts';
import { storeVariables } from '../../lib/config/stores.ts';
import { workerVariables } from '../../lib/config/worker.ts';
import { openRedis } from '../../lib/rate-limits/redis.ts';
import type { Check, Feature } from './report.ts';
import type { Subject } from './subject.ts';

type Surface = Feature['surface'];

/** The variables of each deployed function. */
const ofFunctions = {
  'service API': backupsVariables,
  'live feed': liveSurfaceVariables,
  observatory: observatoryVariables,
  'MCP server': mcpSurfaceVariables,
};

/** One process, which does not start with any invalid value. */
const ofLocalServer = z.object({ ...localVariables.shape, ...listenVariables.shape });
const ofWorker = z.object({
  ...gitHostVariables.shape,
  ...archiveVariables.shape,
  ...storeVariables.shape,
  ...workerVariables.shape,
});

/**
 * The name of the check that explains why a surface rejects its configuration; null if it accepts it. With an
 * invalid value, a surface rejects all requests.
 */
export function findRejection(
  surface: Surface,
  checks: readonly Check[],
  { environment, isHosted }: Subject,
): string | null {
  const isWorker = surface === 'worker';
  const local = isWorker ? ofWorker : ofLocalServer;
  const variables = isHosted && !isWorker ? ofFunctions[surface] : local;
  if (!accepts(() => readConfig<z.ZodRawShape>(variables, environment))) return 'variables';
  if (isWorker) return null;
  if (!accepts(() => openRedis(readConfig(redisVariables, environment)))) {
    return 'redis';
  }
  // In a deployment, surfaces that do not need the internal secret work without it.
  const secret = checks.find(({ name }) => name === 'INTERNAL_SECRET');
  return !isHosted && secret?.status === 'failed' ? 'INTERNAL_SECRET' : null;
}

function accepts(read: () => unknown): boolean {
  try {
    read();
    return true;
  } catch (error) {
    if (error instanceof ConfigError) return false;
    throw error;
  }
}
