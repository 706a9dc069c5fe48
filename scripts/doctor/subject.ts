import type { z } from 'zod';
import type { Clock } from '../../lib/platform/clock.ts';
import { ConfigError, type Environment, readConfig } from '../../lib/platform/config/read.ts';
import type { Finding } from './report.ts';

/** What is looked at, and how it is reached. */
export interface Subject {
  environment: Environment;
  /** As deployed functions see it: nothing is made up, and nothing of this machine counts. */
  isHosted: boolean;
  /** Does a first `npm start` make the secrets that are missing? */
  makesSecrets: boolean;
  fetch: typeof fetch;
  clock: Clock;
}

/** Looks at something that a group of variables configures; a bad value of the group is its fault. */
export async function withConfig<Shape extends z.ZodRawShape>(
  variables: z.ZodObject<Shape>,
  { environment }: Subject,
  look: (config: z.output<z.ZodObject<Shape>>) => Finding | Promise<Finding>,
): Promise<Finding> {
  try {
    return await look(readConfig(variables, environment));
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return { status: 'failed', detail: error.message, next: 'correct the value' };
  }
}
