import * as z from 'zod';
import { within } from '../async.ts';
import { type Endpoint, endpoint } from '../http/route.ts';
import { version } from '../version.ts';
import type { BackupsDeps } from './base/backups-deps.ts';

/** Time limit of /ready, including the connection attempt. */
export const READY_WITHIN_MS = 3_000;

const common = { method: 'get', tag: 'Health', access: 'public' } as const;

const liveness = z
  .object({ status: z.literal('ok'), uptime_seconds: z.int(), version: z.string() })
  .meta({ id: 'Liveness' });
const ready = z
  .object({ status: z.literal('ready'), database: z.literal('connected') })
  .meta({ id: 'Ready' });
const notReady = z
  .object({ status: z.literal('unavailable'), database: z.literal('disconnected') })
  .meta({ id: 'NotReady' });

/** GET /health and /ready, each with its alias. */
export const healthEndpoints: readonly Endpoint<BackupsDeps>[] = [
  ...['/health', '/healthz'].map((path) =>
    endpoint(
      {
        ...common,
        path,
        summary: 'Check that the process is running',
        responses: { 200: { description: 'It is.', schema: liveness } },
      },
      (_input, { clock, startedAt }: BackupsDeps, c) => {
        const uptime_seconds = Math.floor((clock.now() - startedAt) / 1000);
        return c.json({ status: 'ok', uptime_seconds, version });
      },
    ),
  ),
  ...['/ready', '/readyz'].map((path) =>
    endpoint(
      {
        ...common,
        path,
        summary: 'Check whether the database answers within 3 seconds',
        responses: {
          200: { description: 'It does.', schema: ready },
          503: { description: 'It does not.', schema: notReady },
        },
      },
      async (_input, { pingDatabase, warnNotReady, clock }: BackupsDeps, c) => {
        try {
          await within(READY_WITHIN_MS, pingDatabase(), clock);
          return c.json({ status: 'ready', database: 'connected' });
        } catch (error) {
          warnNotReady('the database does not answer', { error });
          return c.json({ status: 'unavailable', database: 'disconnected' }, 503);
        }
      },
    ),
  ),
];
