import * as z from 'zod';
import { channelVariables } from './alert-channels.ts';
import { archiveVariables } from './archives.ts';
import { chatVariables } from './chat.ts';
import { databaseVariables } from './database.ts';
import { freshnessVariables } from './freshness.ts';
import { gatewayVariables } from './gateway.ts';
import { httpVariables } from './http.ts';
import { identityVariables } from './identity.ts';
import { listenVariables } from './listen.ts';
import { logVariables } from './log.ts';
import { mailVariables } from './mail.ts';
import { backendVariables } from './mcp.ts';
import { redisVariables } from './redis.ts';
import { searchVariables } from './search.ts';

/** All variables of the observatory. */
export const observatoryVariables = z.object({
  ...databaseVariables.shape,
  ...redisVariables.shape,
  ...logVariables.shape,
  ...httpVariables.shape,
  ...identityVariables.shape,
  ...gatewayVariables.shape,
  ...searchVariables.shape,
  ...chatVariables.shape,
  ...mailVariables.shape,
  ...channelVariables.shape,
  ...freshnessVariables.shape,
  BASE_PATH: listenVariables.shape.BASE_PATH,
  BACKEND_URL: backendVariables.shape.BACKEND_URL,
  BACKUP_ARCHIVE_PATH: archiveVariables.shape.BACKUP_ARCHIVE_PATH,
  // Needed to find git.
  PATH: z.string().optional(),
  VERCEL_URL: z
    .string()
    .regex(/^[a-z0-9.-]+$/i, 'must be a host name')
    .optional()
    .describe("set by the platform: the deployment's host name, used to reach its service API"),
});

export type ObservatoryConfig = z.output<typeof observatoryVariables>;
