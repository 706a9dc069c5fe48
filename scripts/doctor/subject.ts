import type { z } from 'zod';
import type { Clock } from '../../lib/clock.ts';
import { ConfigError, type Environment, readConfig } from '../../lib/config/read.ts';
import { type Finding, failed } from './report.ts';

/** What is checked, and how it is reached. */
export interface Subject {
  environment: Environment;
  /** As deployed functions see it: without generated secrets and without this machine. */
  isHosted: boolean;
  /** Does a first `npm start` generate missing secrets? */
  makesSecrets: boolean;
  fetch: typeof fetch;
  clock: Clock;
}

/** Checks what a group of variables configures; fails if one of them has a bad value. */
export async function withConfig<Shape extends z.ZodRawShape>(
  variables: z.ZodObject<Shape>,
  { environment }: Subject,
  look: (config: z.output<z.ZodObject<Shape>>) => Finding | Promise<Finding>,
): Promise<Finding> {
  try {
    return await look(readConfig(variables, environment));
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return failed(error.message, 'correct the value');
  }
}
