import { z } from 'zod';
import { observatoryError } from '../../platform/http/error-shapes.ts';
import type { Route } from '../../platform/http/route.ts';
import { memoize } from '../../platform/memoize.ts';
import { PREFIX } from '../declare.ts';

const reachable = memoize(() => z.enum(['ok', 'unreachable']));

const readiness = memoize(() =>
  z
    .object({
      status: z.enum(['ready', 'unavailable']),
      database: reachable(),
      go_backend: reachable().meta({ description: 'The service API.' }),
      configuration: z.enum(['ok', 'incomplete']),
      details: z
        .object({
          database: z.string().optional(),
          go_backend: z.string().optional(),
          configuration: z.string().optional(),
        })
        .optional()
        .meta({
          description: 'What is wrong: only with a user’s token or the internal secret.',
        }),
    })
    .meta({ id: 'ObservatoryReadiness' }),
);

/** GET /observatory/ready, with the prefix only: /ready is the service API's (decisions 1). */
export const readyRoute = {
  method: 'get',
  path: `${PREFIX}/ready`,
  tag: 'Health',
  access: 'public',
  summary: 'Tell whether the observatory and what it needs answer',
  errorSchema: observatoryError,
  responses: () => ({
    200: { description: 'All of it.', schema: readiness() },
    503: { description: 'Not all of it.', schema: readiness() },
  }),
} as const satisfies Route;
