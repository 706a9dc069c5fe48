import type { Fault, FaultProxy } from '../../support/fault-proxy.ts';
import type { Phases, Seen, Surface } from './surface.ts';

/** The outcome of a surface under one fault. */
export interface Result {
  outcome: Seen | Error;
  /** The time from the break of the part until the client had its answer. */
  answeredAfterMs: number;
  /** The time from the return of the part until the surface worked again. */
  recoveredAfterMs: number;
}

/** The maximum time from the return of a part until everything that uses it works again. */
const RECOVERS_WITHIN_MS = 5_000;
const LEAST_SLACK_MS = 2_000;

/** How long the machine takes for a round without a fault, which the limits take into account. */
export interface Pace {
  slackMs: number;
}

/** The duration of a round without a fault, plus half of it, because the machine may do other things as well. */
export function paceOf(results: Record<string, Result>): Pace {
  const longest = Math.max(
    ...Object.values(results).map((it) => it.answeredAfterMs + it.recoveredAfterMs),
  );
  return { slackMs: Math.max(LEAST_SLACK_MS, 1.5 * longest) };
}

/**
 * Uses all surfaces at once while the part behind the proxy has one fault, or none. Repairs the part once each has its
 * answer, and waits until each works again.
 */
export async function runFault<On, Name extends string>(
  fault: Fault | null,
  proxy: FaultProxy,
  ground: On,
  surfaces: Record<Name, Surface<On>>,
): Promise<Record<Name, Result>> {
  const entries = Object.entries(surfaces) as [Name, Surface<On>][];
  let brokenAt = 0;
  let mendedAt = 0;
  const breaking = meet(entries.length, async () => {
    if (fault !== null) await proxy.break(fault);
    brokenAt = performance.now();
  });
  const repairing = meet(entries.length, async () => {
    await proxy.repair();
    mendedAt = performance.now();
  });

  async function use(surface: Surface<On>): Promise<Result> {
    let answeredAt = 0;
    const arrivals = new Set<typeof breaking>();
    const arrive = (meeting: typeof breaking) => {
      arrivals.add(meeting);
      return meeting.arrive();
    };
    const phases: Phases = {
      broken: () => arrive(breaking),
      repaired: () => {
        answeredAt = performance.now();
        return arrive(repairing);
      },
    };
    const outcome = await surface(ground, phases).catch((error: unknown) =>
      error instanceof Error ? error : new Error(String(error)),
    );
    // A failure does not block the others.
    for (const meeting of [breaking, repairing]) if (!arrivals.has(meeting)) void meeting.arrive();
    return {
      outcome,
      answeredAfterMs: answeredAt - brokenAt,
      recoveredAfterMs: performance.now() - mendedAt,
    };
  }

  const results = await Promise.all(
    entries.map(async ([name, surface]) => [name, await use(surface)] as const),
  );
  return Object.fromEntries(results) as Record<Name, Result>;
}

/** Whether it recovered in time. */
export function isRecovered({ recoveredAfterMs }: Result, { slackMs }: Pace): boolean {
  return recoveredAfterMs <= RECOVERS_WITHIN_MS + slackMs;
}

/** Whether it answered within the stated limit. */
export function isInTime({ answeredAfterMs }: Result, seconds: number, { slackMs }: Pace): boolean {
  return answeredAfterMs <= seconds * 1_000 + slackMs;
}

/** A barrier: resolves for all once this many have arrived and the work in between is done. */
function meet(count: number, work: () => Promise<void>) {
  const met = Promise.withResolvers<void>();
  let arrived = 0;
  return {
    arrive(): Promise<void> {
      arrived += 1;
      if (arrived === count) work().then(met.resolve, met.reject);
      return met.promise;
    },
  };
}
