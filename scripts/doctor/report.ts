import { z } from 'zod';

/** The result of one check. `off`: not configured, and not required. */
const check = z.object({
  name: z.string(),
  /** Only `failed` makes the exit code 1. */
  status: z.enum(['ok', 'off', 'warning', 'failed']),
  detail: z.string(),
  /** The effect on features that need this part. */
  effect: z.enum(['none', 'limits', 'prevents']),
  /** How to fix it. */
  next: z.string().nullable(),
  /** A round trip to the service, in milliseconds. */
  latency_ms: z.number().nullable(),
});

/** Whether a feature works with this configuration. */
const feature = z.object({
  surface: z.enum(['service API', 'live feed', 'observatory', 'MCP server', 'worker']),
  feature: z.string(),
  status: z.enum(['works', 'limited', 'off']),
  /** The check that explains why. */
  because: z.string().nullable(),
});

/** The output of `npm run doctor -- --json`. Fields may be added; their names and meanings do not change. */
export const report = z.object({
  version: z.string(),
  configuration: z.enum(['local', 'hosted']),
  /** No check `failed`. */
  ok: z.boolean(),
  checks: z.array(check),
  features: z.array(feature),
});

export type Check = z.output<typeof check>;
export type Feature = z.output<typeof feature>;
export type DoctorReport = z.output<typeof report>;

/** The outcome of a check. Default effect: `prevents` if failed or off, else `none`. */
export type CheckFinding = Pick<Check, 'status' | 'detail'> &
  Partial<Pick<Check, 'effect' | 'next' | 'latency_ms'>>;

type More = Omit<CheckFinding, 'status' | 'detail' | 'next'>;

export function ok(detail: string, more?: More): CheckFinding {
  return { status: 'ok', detail, ...more };
}

/** Not configured, and not required. */
export function off(detail: string, next?: string, more?: More): CheckFinding {
  return { status: 'off', detail, ...(next === undefined ? {} : { next }), ...more };
}

export function warning(detail: string, next: string, more?: More): CheckFinding {
  return { status: 'warning', detail, next, ...more };
}

export function failed(detail: string, next: string, more?: More): CheckFinding {
  return { status: 'failed', detail, next, ...more };
}

/** Turns a finding into a check. */
export function toCheck(name: string, finding: CheckFinding): Check {
  const { status, detail, next = null, latency_ms = null } = finding;
  const isMissing = status === 'failed' || status === 'off';
  const effect = finding.effect ?? (isMissing ? 'prevents' : 'none');
  return { name, status, detail, effect, next, latency_ms };
}
