import * as z from 'zod';
import { databaseVariables } from './database.ts';
import { httpVariables } from './http.ts';
import { identityVariables } from './identity.ts';
import { logVariables } from './log.ts';
import { redisVariables } from './redis.ts';
import { list, seconds } from './values.ts';

/** An origin or `*`. Tolerates a trailing slash, a common mistake. */
const origin = z
  .string()
  .regex(
    /^(\*|[a-z][a-z0-9+.-]*:\/\/[^/?#\s]+\/?)$/i,
    'must be a list of origins such as https://dashboard.example',
  )
  .transform((text) => text.toLowerCase().replace(/\/$/, ''));

/** The live feed. */
export const liveVariables = z.object({
  WS_ALLOWED_ORIGINS: list
    .pipe(z.array(origin))
    .default(['http://localhost:3000', 'http://localhost:8080'])
    .describe('comma-separated origins whose pages may open /ws/live; * allows any'),
  SSE_MAX_DURATION_SECONDS: seconds(86_400)
    .default(300)
    .describe("log streams are closed after this; must be below the platform's own limit"),
});

/** All variables of the live feed. */
export const liveSurfaceVariables = z.object({
  ...databaseVariables.shape,
  ...redisVariables.shape,
  ...logVariables.shape,
  ...httpVariables.shape,
  ...identityVariables.shape,
  ...liveVariables.shape,
});

export type LiveConfig = z.output<typeof liveSurfaceVariables>;
