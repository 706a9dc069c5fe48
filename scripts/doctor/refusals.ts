import { z } from 'zod';
import { archiveVariables } from '../../lib/platform/config/archives.ts';
import { backupsVariables } from '../../lib/platform/config/backups.ts';
import { gitHostVariables } from '../../lib/platform/config/git-host.ts';
import { listenVariables } from '../../lib/platform/config/listen.ts';
import { liveSurfaceVariables } from '../../lib/platform/config/live.ts';
import { localVariables } from '../../lib/platform/config/local.ts';
import { mcpSurfaceVariables } from '../../lib/platform/config/mcp.ts';
import { observatoryVariables } from '../../lib/platform/config/observatory.ts';
import { ConfigError, readConfig } from '../../lib/platform/config/read.ts';
import { redisVariables } from '../../lib/platform/config/redis.ts';
import { openRedis } from '../../lib/platform/redis.ts';
import type { Check, Feature } from './report.ts';
import type { Subject } from './subject.ts';

type Surface = Feature['surface'];

/** What each deployed function reads before it answers anything. */
const ofFunctions = {
  'service API': backupsVariables,
  'live feed': liveSurfaceVariables,
  observatory: observatoryVariables,
  'MCP server': mcpSurfaceVariables,
};

/** One process, which a single bad value keeps from starting. */
const ofLocalServer = z.object({ ...localVariables.shape, ...listenVariables.shape });
const ofWorker = z.object({ ...gitHostVariables.shape, ...archiveVariables.shape });

/**
 * The name of the check that says why a surface refuses its whole configuration (decisions 2); null when
 * it takes it.
 */
export function findRefusal(
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
  // Of a deployment the surfaces that need no internal secret go on without it.
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
