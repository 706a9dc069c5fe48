import { type Clock, systemClock } from '../../lib/clock.ts';
import type { Environment } from '../../lib/config/read.ts';
import { examine } from '../../scripts/doctor/examine.ts';
import { type Check, type DoctorReport, report } from '../../scripts/doctor/report.ts';

/** Every secret that a deployment needs. */
export const deploymentSecrets = {
  INTERNAL_SECRET: 'i'.repeat(40),
  JWT_SECRET: 'j'.repeat(40),
  MCP_AUTH_TOKEN: 'm'.repeat(40),
  CRON_SECRET: 'c'.repeat(40),
  CREDENTIALS_ENCRYPTION_KEY: 'ab'.repeat(32),
};

export interface Examination {
  report: DoctorReport;
  /** A check by name. Throws if it was not made. */
  of(name: string): Check;
  /** The features with this status, as `surface: feature`. */
  features(status: DoctorReport['features'][number]['status']): string[];
}

/** Runs the doctor with the variables of a deployment, or in a folder with a `.env`. */
export async function examineWith(
  environment: Environment,
  {
    isHosted = true,
    send = fetch,
    clock = systemClock,
  }: { isHosted?: boolean; send?: typeof fetch; clock?: Clock } = {},
): Promise<Examination> {
  const found = report.parse(
    await examine({
      environment: { PATH: process.env.PATH, ...environment },
      isHosted,
      makesSecrets: false,
      fetch: send,
      clock,
    }),
  );
  return {
    report: found,
    of(name) {
      const made = found.checks.find((check) => check.name === name);
      if (made === undefined) throw new Error(`there is no check ${name}`);
      return made;
    },
    features: (status) =>
      found.features
        .filter((feature) => feature.status === status)
        .map(({ surface, feature }) => `${surface}: ${feature}`),
  };
}
