import { z } from 'zod';

/** How a part stands. Only `failed` makes the exit code 1. */
export const checkStatuses = ['ok', 'off', 'warning', 'failed'] as const;

/** One part that was looked at. `off`: it is not configured, and nothing has to be. */
export const check = z.object({
  name: z.string(),
  status: z.enum(checkStatuses),
  detail: z.string(),
  /** What it does to the features that need this part. */
  effect: z.enum(['none', 'limits', 'prevents']),
  /** What to do about it. */
  next: z.string().nullable(),
  /** A round trip to the part, in milliseconds. */
  latency_ms: z.number().nullable(),
});

/** Something that people use, and whether it works with this configuration. */
export const feature = z.object({
  surface: z.enum(['service API', 'live feed', 'observatory', 'MCP server', 'worker']),
  feature: z.string(),
  status: z.enum(['works', 'limited', 'off']),
  /** The check that says why. */
  because: z.string().nullable(),
});

/** What `npm run doctor -- --json` prints. Fields may be added; names and meanings stay. */
export const report = z.object({
  version: z.string(),
  configuration: z.enum(['local', 'hosted']),
  /** Is nothing `failed`? */
  ok: z.boolean(),
  checks: z.array(check),
  features: z.array(feature),
});

export type Check = z.output<typeof check>;
export type Feature = z.output<typeof feature>;
export type Report = z.output<typeof report>;

/** What a check found, without its name. Without an effect: `prevents` when failed or off, else `none`. */
export type Finding = Pick<Check, 'status' | 'detail'> &
  Partial<Pick<Check, 'effect' | 'next' | 'latency_ms'>>;

/** A check of its finding. */
export function named(name: string, finding: Finding): Check {
  const { status, detail, next = null, latency_ms = null } = finding;
  const isMissing = status === 'failed' || status === 'off';
  const effect = finding.effect ?? (isMissing ? 'prevents' : 'none');
  return { name, status, detail, effect, next, latency_ms };
}
