import * as z from 'zod';
import { isTimeZone, ownTimeZone } from '../timing/timing.ts';
import { wholeNumber } from './values.ts';

/** How the server starts runs. */
export const scheduleVariables = z.object({
  BACKUP_TIME_ZONE: z
    .string()
    .refine(isTimeZone, 'must be a time zone such as Europe/Berlin')
    .default(ownTimeZone)
    .describe('time zone of the times in BACKUP_EVERY; default: that of `TZ`, else of the machine'),
  WORKER_MEMORY_MIB: wholeNumber(64, 65_536)
    .default(512)
    .describe(
      'heap in MiB of the worker that `npm start` runs as a process of its own, 64 to 65536; git has its own memory',
    ),
});

/** The settings of how the server starts runs. */
export type ScheduleConfig = z.output<typeof scheduleVariables>;
