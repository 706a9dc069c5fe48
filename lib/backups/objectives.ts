import * as z from 'zod';
import { AppError } from '../errors.ts';
import { plainError } from '../http/error-shapes.ts';
import { type Endpoint, endpoint } from '../http/route.ts';
import { groupPatternFault, readObjectives, shareOf } from '../objectives/attainment.ts';
import {
  ATTAINMENT_DAYS,
  addObjective,
  changeObjective,
  MAX_OBJECTIVES,
  type Objective,
  type Refusal,
  removeObjective,
} from '../records/objectives.ts';
import type { BackupsDeps } from './base/backups-deps.ts';
import { callerName } from './base/caller-name.ts';
import { objectiveInput } from './base/input.ts';

const MAX_PATTERNS = 20;
const HOURS_OF_YEAR = 8_760;
const MINUTES_OF_MONTH = 43_200;

const pattern = z
  .string()
  .trim()
  .superRefine((text, context) => {
    const message = groupPatternFault(text);
    if (message !== null) context.addIssue({ code: 'custom', message });
  })
  .meta({ example: 'acme/*' });
const wanted = {
  name: z
    .string()
    .trim()
    .min(1)
    .max(100)
    .regex(/^\P{C}*$/u, 'must not contain control characters'),
  patterns: z.array(pattern).min(1).max(MAX_PATTERNS).meta({
    description:
      'The names of the group: `*` matches anything but a slash, `**` also a slash, `?` one character. Without a slash, the part after the owner.',
  }),
  position: z.int().min(0).max(1_000_000).default(0).meta({
    description:
      'A repository belongs to the first objective that matches, by this number and then by id.',
  }),
  rpo_hours: z.int().min(1).max(HOURS_OF_YEAR).nullable().meta({
    description: 'How old the newest backup of each may be, in hours; null for no such objective.',
  }),
  rto_minutes: z.int().min(1).max(MINUTES_OF_MONTH).nullable().meta({
    description: 'How long a restore may take, in minutes; null for no such objective.',
  }),
};
const newObjective = z
  .object({
    ...wanted,
    rpo_hours: wanted.rpo_hours.default(null),
    rto_minutes: wanted.rto_minutes.default(null),
  })
  .refine(({ rpo_hours, rto_minutes }) => rpo_hours !== null || rto_minutes !== null, {
    path: ['rpo_hours'],
    message: 'must be set, or rto_minutes',
  })
  .meta({ id: 'NewObjective' });

const stored = {
  id: z.int(),
  name: z.string(),
  patterns: z.array(z.string()),
  position: z.int(),
  rpo_hours: z.int().nullable(),
  rto_minutes: z.int().nullable(),
};
const objective = z.object(stored).meta({ id: 'Objective' });
const share = z.number().min(0).max(1).nullable().meta({
  description: 'From 0 to 1, rounded down to four decimals; null if nothing is measured.',
});
const attained = z
  .object({
    ...stored,
    repositories: z.int().meta({ description: 'How many repositories belong to it.' }),
    rpo: z
      .object({
        attainment: share.meta({
          description:
            'The share of the time in which the newest good backup was younger than rpo_hours, of all its repositories together. From 0 to 1, rounded down to four decimals; null if nothing is measured.',
        }),
        measured_ms: z.int().meta({ description: 'The measured time of all its repositories.' }),
        met_ms: z.int(),
        within_now: z
          .int()
          .meta({ description: 'Repositories whose newest backup is young enough now.' }),
        measured_since: z.iso.datetime().nullable().meta({
          description:
            'The first moment that is measured: later than `from` if no repository has results from before; null without repositories.',
        }),
      })
      .nullable()
      .meta({ description: 'Null without rpo_hours.' }),
    rto: z
      .object({
        attainment: share.meta({
          description:
            'The share of the restore drills that restored within rto_minutes. A failed drill did not; an incomplete one does not count. From 0 to 1, rounded down to four decimals; null without drills.',
        }),
        drills: z.int(),
        within: z.int(),
        slowest_ms: z.int().nullable().meta({ description: 'The longest one that was proven.' }),
      })
      .nullable()
      .meta({ description: 'Null without rto_minutes.' }),
  })
  .meta({ id: 'AttainedObjective' });

const common = { tag: 'Objectives' } as const;
const json = { encoding: 'json', schema: newObjective, maxBytes: 32 * 1024 } as const;
const unknown = { description: 'There is no such objective.', schema: plainError };

/** GET and POST /api/objectives, PUT and DELETE /api/objectives/:id. */
export const objectivesEndpoints: readonly Endpoint<BackupsDeps>[] = [
  endpoint(
    {
      ...common,
      method: 'get',
      path: '/api/objectives',
      access: 'reader',
      summary: `List the objectives, and how far each was attained in the last ${ATTAINMENT_DAYS} days`,
      description:
        'Every repository belongs to the first objective that matches its name. See docs/objectives.md for how attainment is measured.',
      responses: {
        200: {
          description: 'The objectives in the order in which they are matched.',
          schema: z
            .object({
              from: z.iso.datetime(),
              to: z.iso.datetime(),
              repositories_without: z
                .int()
                .meta({ description: 'Tracked repositories that belong to no objective.' }),
              data: z.array(attained),
            })
            .meta({ id: 'Objectives' }),
        },
      },
    },
    async (_input, { db, clock }: BackupsDeps, c) => {
      const now = clock.now();
      const to = new Date(now).toISOString();
      const { objectives, without } = await readObjectives(db, to);
      return c.json({
        from: new Date(now - ATTAINMENT_DAYS * 86_400_000).toISOString(),
        to,
        repositories_without: without,
        data: objectives.map(({ rpo, rto, ...rest }) => ({
          ...rest,
          rpo: rpo && { attainment: shareOf(rpo.met_ms, rpo.measured_ms), ...rpo },
          rto: rto && { attainment: shareOf(rto.within, rto.drills), ...rto },
        })),
      });
    },
  ),
  endpoint(
    {
      ...common,
      method: 'post',
      path: '/api/objectives',
      access: 'administrator',
      summary: 'Add an objective for a group of repositories',
      body: json,
      responses: {
        201: { description: 'The objective.', schema: objective },
        409: {
          description: `The name is taken, or there are ${MAX_OBJECTIVES} already.`,
          schema: plainError,
        },
      },
    },
    async ({ body }, { db, log }: BackupsDeps, c) => {
      const by = callerName(c);
      const added = requireStored(await addObjective(db, body, by));
      log.info('an objective was added', { request_id: c.get('requestId'), by, name: body.name });
      return c.json(added, 201);
    },
  ),
  endpoint(
    {
      ...common,
      method: 'put',
      path: '/api/objectives/:id',
      access: 'administrator',
      summary: 'Change an objective',
      params: objectiveInput,
      body: json,
      responses: {
        200: { description: 'The objective.', schema: objective },
        404: unknown,
        409: { description: 'The name is taken.', schema: plainError },
      },
    },
    async ({ params: { id }, body }, { db, log }: BackupsDeps, c) => {
      const by = callerName(c);
      const changed = requireStored(await changeObjective(db, { id, ...body }, by));
      log.info('an objective was changed', { request_id: c.get('requestId'), by, name: body.name });
      return c.json(changed);
    },
  ),
  endpoint(
    {
      ...common,
      method: 'delete',
      path: '/api/objectives/:id',
      access: 'administrator',
      summary: 'Remove an objective',
      params: objectiveInput,
      responses: {
        200: {
          description: 'The removed objective.',
          schema: z.object({ id: z.int() }).meta({ id: 'RemovedObjective' }),
        },
        404: unknown,
      },
    },
    async ({ params: { id } }, { db, log }: BackupsDeps, c) => {
      if (!(await removeObjective(db, id))) throw refusalError('unknown');
      const by = callerName(c);
      log.info('an objective was removed', { request_id: c.get('requestId'), by, objective: id });
      return c.json({ id });
    },
  ),
];

function requireStored(outcome: Objective | Refusal): Objective {
  if (typeof outcome === 'string') throw refusalError(outcome);
  return outcome;
}

function refusalError(refusal: Refusal): AppError {
  if (refusal === 'unknown') return new AppError('NOT_FOUND', 'there is no such objective');
  const message =
    refusal === 'taken'
      ? 'there is already an objective of this name'
      : `there are already ${MAX_OBJECTIVES} objectives: remove one first`;
  return new AppError('CONFLICT', message);
}
