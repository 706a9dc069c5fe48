import { hash } from 'node:crypto';
import * as z from 'zod';
import { AppError } from '../../errors.ts';
import { plainError } from '../../http/error-shapes.ts';
import { type Endpoint, endpoint } from '../../http/route.ts';
import { findBadge } from '../../records/badges/badges.ts';
import type { BackupsDeps } from '../base/backups-deps.ts';
import { badgeColors, describeBadge } from './message.ts';
import { drawBadge } from './svg.ts';

/** The path prefix of every badge. */
export const BADGES_PATH = '/badges/';

/** Length of the unguessable part of an address: 128 bits. */
export const TOKEN_BYTES = 16;

const MAX_AGE_S = 300;

/** Any page may embed the image. It cannot run or load anything, even when opened by itself. */
const svgHeaders = {
  'Content-Type': 'image/svg+xml; charset=utf-8',
  'Content-Security-Policy': "default-src 'none'; sandbox; frame-ancestors 'none'",
};

const badge = z
  .object({
    schemaVersion: z.literal(1),
    label: z.string(),
    message: z.string().meta({
      description: 'The state, the age of the last proof, and the number of open incidents.',
    }),
    color: z.enum(Object.keys(badgeColors)),
  })
  .meta({ id: 'ShieldsBadge', description: 'A badge in the endpoint schema of shields.io.' });

/** GET /badges/:file. */
export const publicBadgeEndpoints: readonly Endpoint<BackupsDeps>[] = [
  endpoint(
    {
      method: 'get',
      path: `${BADGES_PATH}:file`,
      tag: 'Badges',
      access: 'public',
      summary: 'Get a badge: an image, or JSON for shields.io',
      description:
        'Anyone who knows the address may read it. A revoked address answers like one that never existed.',
      params: z.object({
        file: z.string().meta({
          description: 'The name returned when the badge was created, ending in .svg or .json.',
        }),
      }),
      responses: {
        200: { description: 'The badge.', schema: badge, contentType: 'image/svg+xml' },
        404: { description: 'No such badge.', schema: plainError },
      },
    },
    async ({ params }, { db, readBadge }: BackupsDeps, c) => {
      const [, token = '', type] = /^([^.]*)\.(svg|json)$/.exec(params.file) ?? [];
      const found = await findBadge(db, hashToken(token));
      if (found === null || type === undefined) throw new AppError('NOT_FOUND', 'badge not found');
      const badge = describeBadge(await readBadge(found.repository));
      c.header('Cache-Control', `public, max-age=${MAX_AGE_S}`);
      c.header('Cross-Origin-Resource-Policy', 'cross-origin');
      return type === 'json' ? c.json(badge) : c.body(drawBadge(badge), 200, svgHeaders);
    },
  ),
];

/** Only the hash of a token is stored. Tokens are random, so a plain hash is enough. */
export function hashToken(token: string): string {
  return hash('sha256', token, 'hex');
}
