import * as z from 'zod';
import { incidentStates } from '../../alerts/incidents/list.ts';
import { ruleNames } from '../../alerts/rules/rule.ts';
import { proofStateNames } from '../../records/drills/states.ts';
import { repositoryOrders } from '../../records/repositories/list.ts';
import { offSiteStates } from '../../records/repositories/off-site.ts';
import { repositoryStates } from '../../records/repositories/repository-states.ts';
import { runOrders } from '../../records/runs/runs.ts';
import { momentParameter } from '../../text/moment.ts';

/**
 * An integer in decimal digits. Anything else, including a repeated parameter, is rejected with 400. Values outside
 * the range of safe integers are clamped.
 */
const integerText = z
  .string('must be given once')
  .regex(/^-?[0-9]+$/, 'must be an integer')
  .transform((text) =>
    Math.max(Number.MIN_SAFE_INTEGER, Math.min(Number(text), Number.MAX_SAFE_INTEGER)),
  );

/** A text of at most `max` characters that Postgres can store. */
export const storableText = (max: number) =>
  z
    .string('must be given once')
    .max(max, `must have at most ${max} characters`)
    .refine((text) => !text.includes('\0'), 'must not contain NUL')
    .overwrite((text) => text.toWellFormed());

interface IntegerParameter {
  description: string;
  default?: number;
  minimum?: number;
  maximum?: number;
}

/** Describes an integer parameter in `/openapi.json`. */
function describeInteger(description: string, rest: Omit<IntegerParameter, 'description'> = {}) {
  return {
    description,
    override: ({ jsonSchema }: { jsonSchema: object }) => {
      Object.assign(jsonSchema, { type: 'integer', pattern: undefined, ...rest });
    },
  };
}

/** An integer parameter that `clamp` limits instead of rejecting it for its size. */
function integerWithDefault(clamp: (value: number) => number, about: Required<IntegerParameter>) {
  const { description, ...rest } = about;
  return integerText
    .optional()
    .transform((value) => (value === undefined ? about.default : clamp(value)))
    .meta(describeInteger(description, rest));
}

/** `true` or `false`. */
function flag(description: string) {
  return z
    .enum(['true', 'false'], 'must be true or false')
    .transform((text) => text === 'true')
    .optional()
    .meta({
      description,
      override: ({ jsonSchema }) => {
        Object.assign(jsonSchema, { type: 'boolean', enum: undefined });
      },
    });
}

const reverse = flag('true: list them the other way round.');

/** `page` and `limit` of every list. */
export const pageInput = z.object({
  page: integerWithDefault((page) => Math.max(1, page), {
    description: 'Page number, from 1. Below 1 means 1; past the end, the page is empty.',
    default: 1,
    minimum: 1,
    maximum: Number.MAX_SAFE_INTEGER,
  }),
  limit: integerWithDefault((limit) => (limit < 1 ? 50 : Math.min(limit, 500)), {
    description: 'Items per page. Below 1 means 50, above 500 means 500.',
    default: 50,
    minimum: 1,
    maximum: 500,
  }),
});

/** `limit` of a comparison. */
export const comparedEntries = integerWithDefault((limit) => Math.max(0, Math.min(limit, 500)), {
  description: 'How many entries each list has. Below 0 means 0, above 500 means 500.',
  default: 100,
  minimum: 0,
  maximum: 500,
});

/** `days` of GET /api/metrics. */
export const daysInput = z.object({
  days: integerWithDefault((days) => (days < 1 ? 30 : Math.min(days, 3650)), {
    description: 'Number of days to include. Below 1 means 30, above 3650 means 3650.',
    default: 30,
    minimum: 1,
    maximum: 3650,
  }),
});

/** The id of a run in a path. An impossible id gives 404, not 400. */
export const runIdInput = z.object({
  id: integerText.meta(describeInteger('Id of a backup run.')),
});

/** Page, filters and order of GET /api/repos. */
export const reposInput = pageInput.extend({
  text: storableText(200)
    .optional()
    .meta({ description: 'Only repositories whose name contains this text, in any letter case.' }),
  state: z
    .enum(repositoryStates, `must be one of ${repositoryStates.join(', ')}`)
    .optional()
    .meta({ description: 'Only repositories in this state.' }),
  proof: z
    .enum(proofStateNames, `must be one of ${proofStateNames.join(', ')}`)
    .optional()
    .meta({
      description:
        'Only repositories that are proven restorable, whose proof is overdue, that were never proven, or that failed a restore drill (failing).',
    }),
  off_site: z
    .enum(offSiteStates, `must be one of ${offSiteStates.join(', ')}`)
    .optional()
    .meta({
      description:
        'Only repositories with an archive of which the stores in use have the newest version (current), only an older one (behind) or nothing (missing), or that a store refuses (failing).',
    }),
  forgotten: flag('true: only forgotten repositories. false, the default: only tracked ones.'),
  order: z
    .enum(repositoryOrders, `must be one of ${repositoryOrders.join(', ')}`)
    .default('size')
    .meta({
      description:
        'size: largest archive first. name: by name. newest: newest result first. worst: gone, never, lost, failing, stale, good, and within a state the longest without a good backup first. last_good: newest good backup first. proof: those that failed a restore drill, then those never proven, then the oldest proof first.',
    }),
  reverse,
});

/** The name of a repository in a path. An unknown name gives 404. */
export const repositoryInput = z.object({
  owner: storableText(500).meta({ description: 'The name up to its first slash.' }),
  name: storableText(500).meta({
    description: 'The rest of the name, with each slash written as %2F.',
  }),
});

/** POST /api/repos/:owner/:name/forget. */
export const forgetInput = z.object({
  nothing_kept: flag('true: forget it although nothing of it is kept.'),
});

/** A source in a path. An impossible id gives 404, not 400. */
export const sourceIdInput = z.object({
  id: integerText.meta(describeInteger('Id of a source.')),
});

/** How a source is removed. */
export const removeSourceInput = z.object({
  nothing_kept: flag('true: also if nothing is kept of a repository that only it names.'),
  dry_run: flag('true: remove nothing, and say what would be forgotten.'),
});

/** How many repositories one request can forget. */
const MAX_FORGOTTEN_AT_ONCE = 100;

const fullNames = z.array(storableText(1_001).min(1)).max(MAX_FORGOTTEN_AT_ONCE);

/** POST /api/repos/forget. */
export const forgetSeveralInput = z
  .object({
    names: fullNames
      .min(1)
      .transform((names) => [...new Map(names.map((name) => [name.toLowerCase(), name])).values()])
      .meta({
        description:
          'Full names, in any letter case. A repository that is named twice counts once.',
        example: ['acme/retired'],
      }),
    nothing_kept: fullNames.default([]).meta({
      description: 'Those to forget although nothing of them is kept.',
    }),
    dry_run: z.boolean().default(false).meta({
      description: 'Only say what is kept of each, and what would be forgotten.',
    }),
  })
  .meta({ id: 'ForgetSeveral' });

/** Period and format of GET /api/evidence. */
export const evidenceInput = z.object({
  from: momentParameter('Only drills from this time on.'),
  to: momentParameter('Only drills before this time.'),
  format: z
    .enum(['markdown', 'html'], 'must be markdown or html')
    .default('markdown')
    .meta({ description: 'The format of the document.' }),
});

/** The id of a drill in a path. */
export const drillInput = z.object({
  id: integerText.meta(describeInteger('Id of a restore drill.')),
});

/** The id of an objective in a path. */
export const objectiveInput = z.object({
  id: integerText.meta(describeInteger('Id of an objective.')),
});

/** What GET /api/drills/:id/statement gives. */
export const statementInput = z.object({
  format: z
    .enum(['envelope', 'statement', 'signature'], 'must be envelope, statement or signature')
    .default('envelope')
    .meta({
      description:
        'envelope: the statement in a DSSE envelope. statement: exactly the signed bytes. signature: the detached Ed25519 signature of those bytes.',
    }),
});

/** Page and filter of GET /api/statements. */
export const statementsInput = pageInput.extend({
  repository: storableText(1_001)
    .optional()
    .meta({ description: 'Only statements about this repository, by name in any letter case.' }),
});

/** The id of a signing key in a path. */
export const signingKeyInput = z.object({
  id: storableText(100).meta({ description: 'Id of a signing key, with or without `.pem`.' }),
});

/** Page and filter of GET /api/anomalies. */
export const anomaliesInput = pageInput.extend({
  open: flag('true: only unconfirmed anomalies. false: only confirmed ones.'),
});

/** Page and filter of GET /api/badges. */
export const badgesInput = pageInput.extend({
  repository: storableText(500)
    .optional()
    .meta({ description: 'Only badges of this repository, by name in any letter case.' }),
});

/** Page and filters of GET /api/repos/:owner/:name/versions. */
export const versionsInput = pageInput.extend({
  before: integerText
    .optional()
    .meta(describeInteger('Only versions older than the one with this number.')),
  until: momentParameter('Only versions made at this time or earlier.').optional(),
  pruned: flag('true: also versions that retention has pruned, which cannot be restored.'),
});

/** The id of an incident in a path. An impossible id gives 404, not 400. */
export const incidentIdInput = z.object({
  id: integerText.meta(describeInteger('Id of an incident.')),
});

/** Page and filters of GET /api/incidents. */
export const incidentsInput = pageInput.extend({
  state: z
    .enum(incidentStates, `must be one of ${incidentStates.join(', ')}`)
    .optional()
    .meta({
      description:
        'open: only unresolved incidents. acknowledged: only unresolved incidents that someone acknowledged. resolved: only resolved ones.',
    }),
  rule: z
    .enum(ruleNames, `must be one of ${ruleNames.join(', ')}`)
    .optional()
    .meta({ description: 'Only incidents of this rule.' }),
  repository: storableText(1_000).optional().meta({
    description:
      'Only incidents that concern this repository, by its full name in any letter case.',
  }),
});

/** A version of a repository in a path. An impossible number gives 404, not 400. */
export const versionInput = repositoryInput.extend({
  id: integerText.meta(describeInteger('Number of a version.')),
});

/** Filters of GET /api/repos/:owner/:name/versions/:id/refs. */
export const refsInput = z.object({
  text: storableText(200)
    .optional()
    .meta({ description: 'Only refs whose name contains this text, in any letter case.' }),
  prefix: storableText(200)
    .optional()
    .meta({ description: 'Only refs whose name starts with this text, such as refs/tags/.' }),
  after: storableText(4_096)
    .optional()
    .meta({ description: 'Only names after this one: the `next` of the previous answer.' }),
  limit: pageInput.shape.limit,
});

const runStatuses = ['completed', 'failed', 'running'] as const;

/** Page and filters of GET /api/backups. */
export const runsInput = pageInput.extend({
  status: z
    .enum(runStatuses, `must be one of ${runStatuses.join(', ')}`)
    .optional()
    .meta({ description: 'Only runs with this status.' }),
  has_failures: flag(
    'true: only runs that failed or have failed repositories. false: only the other runs.',
  ),
  order: z
    .enum(runOrders, `must be one of ${runOrders.join(', ')}`)
    .default('newest')
    .meta({
      description:
        'newest: newest first. longest: the longest first. failures: those with the most failed repositories first.',
    }),
  reverse,
  from: momentParameter('Only runs that started at this time or later.').optional(),
  to: momentParameter('Only runs that started before this time.').optional(),
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
  repository: storableText(255)
    .optional()
    .meta({ description: 'Only logs of this repository, by its full name in any letter case.' }),
  from: momentParameter('Only logs from this time on.').optional(),
  to: momentParameter('Only logs before this time.').optional(),
  text: storableText(200).optional().meta({
    description:
      'Only logs with all these words in the message or repository name. Also accepts "a phrase", -excluded and or. Blank matches all logs.',
  }),
  before_id: integerText
    .optional()
    .meta(describeInteger('Only logs older than the log with this id, to read further back.')),
});

/** The id of a log line in a path. An impossible id gives 404, not 400. */
export const logIdInput = z.object({
  id: integerText.meta(describeInteger('Id of a log line.')),
});

/** `format` of GET /metrics. */
export const metricsInput = z.object({
  format: z
    .enum(['json'], 'must be json')
    .optional()
    .meta({ description: 'json for JSON; default: Prometheus text.' }),
});
