import type { Hono } from 'hono';
import { observatoryVariables } from '../platform/config/observatory.ts';
import type { Environment } from '../platform/config/read.ts';
import type { HttpEnv } from '../platform/http/env.ts';
import { configReader, createHostedSurface } from '../platform/http/hosted-surface.ts';
import type { WriteLine } from '../platform/log.ts';
import { describeObservatoryError } from './answers.ts';
import { createObservatoryApp } from './app.ts';

/** The observatory as a deployed function (decisions 2). */
export function createHostedObservatoryApp(
  environment: Environment,
  write?: WriteLine,
): Promise<Hono<HttpEnv>> {
  return createHostedSurface(
    {
      name: 'the observatory',
      readConfig: configReader(observatoryVariables),
      createApp: createObservatoryApp,
      describeError: describeObservatoryError,
    },
    environment,
    write,
  );
}
