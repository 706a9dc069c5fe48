import { randomBytes } from 'node:crypto';
import * as z from 'zod';
import { MAX_REPOSITORY_LENGTH } from '../../archives/base/archive-name.ts';
import { AppError } from '../../errors.ts';
import { basePathOf } from '../../http/env.ts';
import { plainError } from '../../http/error-shapes.ts';
import { type Endpoint, endpoint } from '../../http/route.ts';
import { createBadge, listBadges, MAX_BADGES, revokeBadge } from '../../records/badges/badges.ts';
import type { BackupsDeps } from '../base/backups-deps.ts';
import { callerName } from '../base/caller-name.ts';
import { badgesInput, runIdInput } from '../base/input.ts';
import { sendJson, sendPage } from '../base/json.ts';
import { listOf, timestamp } from '../base/shapes.ts';
import { BADGES_PATH, hashToken, TOKEN_BYTES } from './public-badge.ts';

const badge = z
  .object({
    id: z.int(),
    repository: z.string().nullable().meta({ description: 'Null for all repositories.' }),
    created_by: z.string(),
    created_at: timestamp,
  })
  .meta({ id: 'Badge' });

const createdBadge = z
  .object({
    ...badge.shape,
    svg: z.string().meta({ description: 'The path of the image.' }),
    json: z.string().meta({ description: 'The path for the endpoint badge of shields.io.' }),
  })
  .meta({ id: 'CreatedBadge', description: 'The paths are shown only once.' });

const newBadge = z
  .object({
    repository: z.string().trim().min(1).max(MAX_REPOSITORY_LENGTH).nullish().meta({
      description: 'A tracked repository, in any letter case. Default: all repositories.',
    }),
  })
  .meta({ id: 'NewBadge' });

const common = { path: '/api/badges', tag: 'Badges' } as const;

/** GET and POST /api/badges, DELETE /api/badges/:id. */
export const badgesEndpoints: readonly Endpoint<BackupsDeps>[] = [
  endpoint(
    {
      ...common,
      method: 'get',
      access: 'reader',
      summary: 'List the badges in use, newest first',
      query: badgesInput,
      responses: { 200: { description: 'A page of badges.', schema: listOf(badge) } },
    },
    async ({ query }, { db }: BackupsDeps, c) =>
      sendPage(c, await listBadges(db, query, query.repository), query),
  ),
  endpoint(
    {
      ...common,
      method: 'post',
      access: 'identified',
      summary: 'Create a badge for one repository, or for all',
      description:
        'Anyone who knows its address can see the state, the age of the last proof and the number of open incidents, without a login.',
      body: { encoding: 'json', schema: newBadge },
      responses: {
        201: { description: 'The badge with its paths.', schema: createdBadge },
        404: { description: 'The repository is not tracked.', schema: plainError },
        409: { description: 'The maximum number of badges is in use.', schema: plainError },
      },
    },
    async ({ body }, { db }: BackupsDeps, c) => {
      const token = randomBytes(TOKEN_BYTES).toString('hex');
      const { item, isKnown } = await createBadge(db, {
        tokenSha256: hashToken(token),
        repository: body.repository ?? null,
        createdBy: callerName(c),
      });
      if (!isKnown) throw new AppError('NOT_FOUND', 'no repository of that name is tracked');
      if (item === null) {
        throw new AppError('CONFLICT', `there are ${MAX_BADGES} badges: revoke one first`);
      }
      const path = `${basePathOf(c)}${BADGES_PATH}${token}`;
      return c.json({ ...JSON.parse(item), svg: `${path}.svg`, json: `${path}.json` }, 201);
    },
  ),
  endpoint(
    {
      ...common,
      method: 'delete',
      path: '/api/badges/:id',
      access: 'identified',
      summary: 'Revoke a badge',
      params: z.object({ id: runIdInput.shape.id.meta({ description: 'Id of a badge.' }) }),
      responses: {
        200: { description: 'The badge, whose address no longer works.', schema: badge },
        404: { description: 'No badge with this id is in use.', schema: plainError },
      },
    },
    async ({ params }, { db }: BackupsDeps, c) => {
      const item = await revokeBadge(db, params.id);
      if (item === null) throw new AppError('NOT_FOUND', 'badge not found');
      return sendJson(c, item);
    },
  ),
];
