import * as z from 'zod';
import { holders } from '../alerts/deliveries/hold.ts';
import {
  acknowledgeIncident,
  incidentStates,
  listIncidents,
  MAX_LISTED,
} from '../alerts/incidents/list.ts';
import { ruleNames } from '../alerts/rules/rule.ts';
import { AppError } from '../errors.ts';
import { plainError } from '../http/error-shapes.ts';
import { type Endpoint, endpoint } from '../http/route.ts';
import type { BackupsDeps } from './base/backups-deps.ts';
import { callerName } from './base/caller-name.ts';
import { incidentIdInput, incidentsInput } from './base/input.ts';
import { sendJson, sendPage } from './base/json.ts';
import { listOf, timestamp } from './base/shapes.ts';

const concerned = z
  .object({ name: z.string(), reason: z.string(), since: timestamp.nullable() })
  .meta({ id: 'ConcernedRepository' });

const delivery = z
  .object({
    kind: z.enum(['opened', 'reminder', 'resolved']),
    channel: z.string().meta({ description: 'The name of the channel, without its address.' }),
    created_at: timestamp,
    attempts: z.int(),
    state: z.enum(['delivered', 'waiting', 'held', 'dropped', 'given_up']).meta({
      description:
        'held: it waits for the end of what holds it. dropped: never sent, because the incident began and ended in a maintenance window.',
    }),
    held_by: z.enum(holders).nullable().meta({
      description: 'What holds it, or held it until a summary told of it; null if nothing did.',
    }),
    delivered_at: timestamp.nullable(),
    last_error: z.string().nullable(),
  })
  .meta({ id: 'AlertDelivery' });

const incident = z
  .object({
    id: z.int(),
    rule: z.string().meta({ description: `One of ${ruleNames.join(', ')}.` }),
    subject: z.string().meta({
      description:
        'The subject of the incident, such as a store; empty if the rule has only one subject.',
    }),
    title: z.string(),
    severity: z.enum(['warning', 'critical']),
    state: z.enum(incidentStates),
    summary: z.string(),
    advice: z.string().nullable().meta({
      description:
        'What to do, with commands in backquotes; null if this release does not know the rule.',
    }),
    details: z.record(z.string(), z.unknown()),
    opened_at: timestamp,
    last_seen_at: timestamp,
    reminded_at: timestamp.nullable(),
    acknowledged_at: timestamp.nullable(),
    acknowledged_by: z.string().nullable(),
    resolved_at: timestamp.nullable(),
    repository_count: z.int(),
    repositories: z.array(concerned).meta({
      description: `The repositories concerned, or concerned at the end if it is resolved: the first ${MAX_LISTED} by name.`,
    }),
    deliveries: z.array(delivery).meta({
      description: `The messages about it, one per channel: the newest ${MAX_LISTED}.`,
    }),
  })
  .meta({ id: 'Incident', description: 'A problem that somebody should know about.' });

const acknowledged = z
  .object({
    id: z.int(),
    acknowledged_at: timestamp,
    acknowledged_by: z.string().nullable(),
  })
  .meta({ id: 'AcknowledgedIncident' });

const common = { tag: 'Incidents' } as const;

/** GET /api/incidents, and POST /api/incidents/:id/acknowledge. */
export const incidentsEndpoints: readonly Endpoint<BackupsDeps>[] = [
  endpoint(
    {
      ...common,
      method: 'get',
      access: 'reader',
      path: '/api/incidents',
      summary: 'List incidents, newest first',
      description:
        'Each incident comes with the repositories concerned, and with its messages and their errors.',
      query: incidentsInput,
      responses: { 200: { description: 'A page of incidents.', schema: listOf(incident) } },
    },
    async ({ query }, { db }: BackupsDeps, c) =>
      sendPage(c, await listIncidents(db, query, query), query),
  ),
  endpoint(
    {
      ...common,
      method: 'post',
      access: 'identified',
      path: '/api/incidents/:id/acknowledge',
      summary: 'Acknowledge an incident',
      description:
        'Stops its reminders until another repository is affected. The first caller is recorded by name.',
      params: incidentIdInput,
      responses: {
        200: { description: 'Who acknowledged it, and when.', schema: acknowledged },
        404: { description: 'No such incident.', schema: plainError },
        409: {
          description: 'The incident was resolved before anyone acknowledged it.',
          schema: plainError,
        },
      },
    },
    async ({ params }, { db, clock }: BackupsDeps, c) => {
      const by = callerName(c);
      const found = await acknowledgeIncident(db, params.id, { by, now: clock.now() });
      if (found === null) throw new AppError('NOT_FOUND', 'incident not found');
      const { resolved_at, ...rest } = JSON.parse(found) as Record<string, unknown>;
      if (rest.acknowledged_at === null) {
        throw new AppError('CONFLICT', `the incident was resolved at ${resolved_at}`);
      }
      return sendJson(c, JSON.stringify(rest));
    },
  ),
];
