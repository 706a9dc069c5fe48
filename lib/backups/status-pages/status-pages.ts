import { randomBytes } from 'node:crypto';
import * as z from 'zod';
import { AppError } from '../../errors.ts';
import { basePathOf } from '../../http/env.ts';
import { plainError } from '../../http/error-shapes.ts';
import { type Endpoint, endpoint } from '../../http/route.ts';
import {
  addStatusPage,
  findStatusPage,
  listStatusPages,
  MAX_STATUS_PAGES,
  revokeStatusPage,
} from '../../records/status-pages/status-pages.ts';
import { hashToken, TOKEN_BYTES } from '../badges/public-badge.ts';
import type { BackupsDeps } from '../base/backups-deps.ts';
import { runIdInput, storableText } from '../base/input.ts';
import { sendJson } from '../base/json.ts';
import { timestamp } from '../base/shapes.ts';
import { changing, logChange } from '../telling/input.ts';
import { renderStatusPage, statusPageHeaders } from './render.ts';

/** The path prefix of every status page. */
export const STATUS_PATH = '/status/';

const MAX_ROWS = 50;
const MAX_NAMES = 20;
const MAX_STARS = 3;
const MAX_AGE_S = 60;

const row = z.object({
  label: storableText(100).trim().min(1).meta({ description: 'What the page calls it.' }),
  repositories: z
    .array(
      storableText(1_001)
        .trim()
        .min(1)
        .refine(
          (name) => name.split('*').length <= MAX_STARS + 1,
          `may have at most ${MAX_STARS} *`,
        ),
    )
    .min(1)
    .max(MAX_NAMES)
    .meta({
      description:
        'Full names in any letter case, in which `*` stands for any text. Only those of tracked repositories count.',
      example: ['acme/site', 'acme/web-*'],
    }),
});

const statusPage = z
  .object({
    id: z.int(),
    title: z.string(),
    address: z
      .string()
      .nullable()
      .meta({ description: 'Null if it is unguessable: then it is not kept.' }),
    shows: z.array(z.object({ label: z.string(), repositories: z.array(z.string()) })),
    created_by: z.string(),
    created_at: timestamp,
  })
  .meta({ id: 'StatusPage' });

const created = z
  .object({
    ...statusPage.shape,
    path: z
      .string()
      .meta({ description: 'Where the page is. Shown only once if it is unguessable.' }),
  })
  .meta({ id: 'CreatedStatusPage' });

const newStatusPage = z
  .object({
    title: storableText(100).trim().min(1),
    shows: z.array(row).min(1).max(MAX_ROWS).meta({
      description: 'The rows: each a repository, or a group of them that is shown as one.',
    }),
    address: z
      .string()
      .regex(/^[a-z0-9][a-z0-9-]{2,62}$/, 'must have 3 to 63 lower-case letters, digits or -')
      .nullish()
      .meta({
        description:
          'The last part of its address, which others can guess. Default: an unguessable one.',
      }),
  })
  .meta({ id: 'NewStatusPage' });

const common = { path: '/api/status-page', tag: 'Status pages' } as const;

/** GET and POST /api/status-page, DELETE /api/status-page/:id, GET /status/:address. */
export const statusPagesEndpoints: readonly Endpoint<BackupsDeps>[] = [
  endpoint(
    {
      ...common,
      method: 'get',
      access: 'reader',
      summary: 'List the public status pages, newest first',
      responses: {
        200: {
          description: 'The status pages.',
          schema: z.object({ data: z.array(statusPage) }),
        },
      },
    },
    async (_input, { db }: BackupsDeps, c) => sendJson(c, `{"data":${await listStatusPages(db)}}`),
  ),
  endpoint(
    {
      ...common,
      method: 'post',
      access: 'administrator',
      summary: 'Publish a status page',
      description:
        'Anyone who knows its address sees the state, the last backup, the last proof and 90 days of each row, without a login.',
      body: { encoding: 'json', schema: newStatusPage },
      responses: {
        201: { description: 'The page with its path.', schema: created },
        409: {
          description: 'The address is taken, or there are too many pages.',
          schema: plainError,
        },
      },
    },
    async ({ body: { title, shows, address = null } }, deps: BackupsDeps, c) => {
      const last = address ?? randomBytes(TOKEN_BYTES).toString('hex');
      const page = { addressSha256: hashToken(last), address, title, shows };
      const { item, isTaken } = await addStatusPage(deps.db, page, changing(c, deps));
      if (item === null && isTaken) {
        const message = 'is taken by another status page';
        throw new AppError('CONFLICT', `the address ${message}`, {
          details: [{ path: 'address', message }],
        });
      }
      if (item === null) {
        throw new AppError(
          'CONFLICT',
          `there are ${MAX_STATUS_PAGES} status pages: revoke one first`,
        );
      }
      logChange(c, deps, 'a status page was published');
      return c.json({ ...JSON.parse(item), path: `${basePathOf(c)}${STATUS_PATH}${last}` }, 201);
    },
  ),
  endpoint(
    {
      ...common,
      method: 'delete',
      path: '/api/status-page/:id',
      access: 'administrator',
      summary: 'Revoke a status page',
      params: z.object({ id: runIdInput.shape.id.meta({ description: 'Id of a status page.' }) }),
      responses: {
        200: { description: 'The page, whose address no longer works.', schema: statusPage },
        404: { description: 'No status page with this id is in use.', schema: plainError },
      },
    },
    async ({ params }, deps: BackupsDeps, c) => {
      const item = await revokeStatusPage(deps.db, params.id, deps.clock.now());
      if (item === null) throw new AppError('NOT_FOUND', 'status page not found');
      logChange(c, deps, 'a status page was revoked', { status_page: params.id });
      return sendJson(c, item);
    },
  ),
  endpoint(
    {
      method: 'get',
      path: `${STATUS_PATH}:address`,
      tag: 'Status pages',
      access: 'public',
      summary: 'Get a public status page',
      description:
        'Anyone who knows the address may read it. A revoked address answers like one that never existed.',
      params: z.object({
        address: z.string().meta({ description: 'The last part of its address.' }),
      }),
      responses: {
        200: { description: 'The page, as HTML without scripts.', contentType: 'text/html' },
        404: { description: 'No such status page.', schema: plainError },
      },
    },
    async ({ params }, { db, clock, readStatus }: BackupsDeps, c) => {
      const found = await findStatusPage(db, hashToken(params.address));
      if (found === null) throw new AppError('NOT_FOUND', 'status page not found');
      const facts = await readStatus(JSON.stringify(found.shows));
      const rows = found.shows.flatMap(({ label }, index) => {
        const fact = facts[index];
        return fact === undefined ? [] : [{ label, facts: fact }];
      });
      c.header('Cache-Control', `public, max-age=${MAX_AGE_S}`);
      return c.html(renderStatusPage(found.title, rows, clock.now()), 200, statusPageHeaders);
    },
  ),
];
