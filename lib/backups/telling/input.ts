import type { Context } from 'hono';
import * as z from 'zod';
import { AppError } from '../../errors.ts';
import type { HttpEnv } from '../../http/env.ts';
import type { BackupsDeps } from '../base/backups-deps.ts';
import { callerName } from '../base/caller-name.ts';

/** A time of day. */
export const timeOfDay = z
  .string()
  .regex(/^(?:[01]\d|2[0-3]):[0-5]\d$/, 'must be a time of day such as 22:00')
  .meta({ example: '22:00' });

/** A time zone by its IANA name. The database has to know it too. */
export const timeZone = z
  .string()
  .max(64)
  .refine(isTimeZone, 'must be the name of a time zone, such as Europe/Berlin')
  .meta({ description: 'Its IANA name.', example: 'Europe/Berlin' });

function isTimeZone(name: string): boolean {
  // Offsets have no changes of the clock, and Postgres reads their signs the other way round.
  if (!/^[A-Za-z]/.test(name)) return false;
  try {
    new Intl.DateTimeFormat('en', { timeZone: name });
    return true;
  } catch {
    return false;
  }
}

/** The days of the week, as ISO 8601 counts them. */
export const weekdays = z
  .array(z.int().min(1).max(7))
  .min(1, 'must name at least one day')
  .transform((days) => [...new Set(days)].sort((a, b) => a - b))
  .meta({ description: 'From 1 for Monday to 7 for Sunday.' });

/** A moment with an offset or Z, as ISO 8601 in UTC. */
export const moment = z.iso
  .datetime({ offset: true, error: 'must be a time in ISO 8601 with an offset or Z' })
  .transform((text) => new Date(text).toISOString())
  .meta({ example: '2026-01-31T08:15:00Z' });

/** The error of a field whose value only the server can judge. */
export function invalid(path: string, message: string): AppError {
  return new AppError('VALIDATION_ERROR', `${path} ${message}`, { details: [{ path, message }] });
}

/** The error of a time zone that the browser knows, but not the database. */
export const unknownTimeZone = () =>
  invalid('time_zone', 'is not known to the database: choose another name of it');

/** Who changes something, and when. */
export function changing(c: Context<HttpEnv>, { clock }: BackupsDeps): { by: string; now: number } {
  return { by: callerName(c), now: clock.now() };
}

/** Logs a change of what is told to whom. */
export function logChange(
  c: Context<HttpEnv>,
  { log }: BackupsDeps,
  what: string,
  about: Record<string, unknown> = {},
): void {
  log.info(what, { request_id: c.get('requestId'), by: callerName(c), ...about });
}
