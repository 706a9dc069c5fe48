import type { z } from 'zod';
import type { Clock } from '../../lib/clock.ts';
import { ConfigError, type Environment, readConfig } from '../../lib/config/read.ts';
import { type CheckFinding, failed } from './report.ts';

/** The configuration to check, and the means to check it. */
export interface Subject {
  environment: Environment;
  /** Check as for a deployment: without generated secrets, and ignoring this machine. */
  isHosted: boolean;
  /** Whether `npm start` would generate missing secrets. */
  makesSecrets: boolean;
  fetch: typeof fetch;
  clock: Clock;
}

/** Runs a check with a group of variables. Fails if one of them is invalid. */
export async function withConfig<Shape extends z.ZodRawShape>(
  variables: z.ZodObject<Shape>,
  { environment }: Subject,
  check: (config: z.output<z.ZodObject<Shape>>) => CheckFinding | Promise<CheckFinding>,
): Promise<CheckFinding> {
  try {
    return await check(readConfig(variables, environment));
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return failed(error.message, 'correct the value');
  }
}
