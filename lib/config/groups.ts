import * as z from 'zod';
import { channelVariables } from './alert-channels.ts';
import { alertRuleVariables } from './alert-rules.ts';
import { archiveVariables, restoreVariables, versionVariables } from './archives.ts';
import { sweepVariables } from './backups.ts';
import { chatVariables } from './chat.ts';
import { databaseVariables } from './database.ts';
import { freshnessVariables } from './freshness.ts';
import { gatewayVariables } from './gateway.ts';
import { gitHostVariables } from './git-host.ts';
import { httpVariables } from './http.ts';
import { identityVariables } from './identity.ts';
import { listenVariables } from './listen.ts';
import { liveVariables } from './live.ts';
import { logVariables } from './log.ts';
import { mailVariables } from './mail.ts';
import { backendVariables, mcpVariables } from './mcp.ts';
import { metricsVariables } from './metrics.ts';
import { redisVariables } from './redis.ts';
import { scheduleVariables } from './schedule.ts';
import { searchVariables } from './search.ts';
import { sourceVariables } from './sources.ts';
import { storeVariables } from './stores.ts';
import { workerVariables } from './worker.ts';

/** All variables by topic. docs/configuration.md and .env.example are generated from these. */
export const variableGroups = {
  Database: databaseVariables,
  'Service API': httpVariables,
  'Stale runs': sweepVariables,
  Repositories: freshnessVariables,
  Metrics: metricsVariables,
  'Live feed': liveVariables,
  'Local server': listenVariables,
  Schedule: scheduleVariables,
  Versions: versionVariables,
  Restoring: restoreVariables,
  Worker: z.object({
    ...archiveVariables.shape,
    ...sourceVariables.shape,
    ...workerVariables.shape,
  }),
  'Off-site': storeVariables,
  'Git host': gitHostVariables,
  Redis: redisVariables,
  Logging: logVariables,
  Observatory: identityVariables,
  'Model gateway': gatewayVariables,
  Search: searchVariables,
  Chat: chatVariables,
  Mail: mailVariables,
  Alerts: alertRuleVariables,
  'Alert channels': channelVariables,
  'MCP server': mcpVariables,
  'Other services': backendVariables,
} as const;
