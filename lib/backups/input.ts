import * as z from 'zod';

/**
 * A whole number in decimal digits; anything else, also a repeated parameter, is refused with 400.
 * A number beyond what JavaScript counts exactly becomes the nearest that it does.
 */
const integerText = z
  .string('must be given once')
  .regex(/^-?[0-9]+$/, 'must be an integer')
  .transform((text) =>
    Math.max(Number.MIN_SAFE_INTEGER, Math.min(Number(text), Number.MAX_SAFE_INTEGER)),
  );

interface IntegerParameter {
  description: string;
  default?: number;
  minimum?: number;
  maximum?: number;
}

/** How `/openapi.json` describes an integer that arrives as text. */
function describeInteger(description: string, rest: Omit<IntegerParameter, 'description'> = {}) {
  return {
    description,
    override: ({ jsonSchema }: { jsonSchema: object }) => {
      Object.assign(jsonSchema, { type: 'integer', pattern: undefined, ...rest });
    },
  };
}

/** A parameter that is never refused for its size: it becomes what `settle` makes of it. */
function integerWithDefault(settle: (value: number) => number, about: Required<IntegerParameter>) {
  const { description, ...rest } = about;
  return integerText
    .optional()
    .transform((value) => (value === undefined ? about.default : settle(value)))
    .meta(describeInteger(description, rest));
}

/** `page` and `limit` of every list. */
export const pageInput = z.object({
  page: integerWithDefault((page) => Math.max(1, page), {
    description: 'Page to read, counted from 1. Below 1 means 1; past the end is an empty page.',
    default: 1,
    minimum: 1,
    maximum: Number.MAX_SAFE_INTEGER,
  }),
  limit: integerWithDefault((limit) => (limit < 1 ? 50 : Math.min(limit, 500)), {
    description: 'Items on a page. Below 1 means 50, above 500 means 500.',
    default: 50,
    minimum: 1,
    maximum: 500,
  }),
});

/** `days` of GET /api/metrics. */
export const daysInput = z.object({
  days: integerWithDefault((days) => (days < 1 ? 30 : Math.min(days, 3650)), {
    description: 'Length of the window in days. Below 1 means 30, above 3650 means 3650.',
    default: 30,
    minimum: 1,
    maximum: 3650,
  }),
});

/** The id of a run in a path. One that no run can have is not found, not refused. */
export const runIdInput = z.object({
  id: integerText.meta(describeInteger('Id of a backup run.')),
});

const levels = ['info', 'warn', 'error', 'debug'] as const;

/** Page and filters of GET /api/logs. */
export const logsInput = pageInput.extend({
  level: z
    .string('must be given once')
    .transform((level) => level.toLowerCase())
    .pipe(z.enum(levels, `must be one of ${levels.join(', ')}`))
    .optional()
    .meta({
      description: 'Only logs of this level, in any letter case.',
      override: ({ jsonSchema }) => {
        Object.assign(jsonSchema, { type: 'string', enum: levels });
      },
    }),
  run_id: integerText.optional().meta(describeInteger('Only logs of this backup run.')),
});

/** `format` of GET /metrics. */
export const metricsInput = z.object({
  format: z
    .enum(['json'], 'must be json')
    .optional()
    .meta({ description: 'json for JSON; Prometheus text without it.' }),
});
