import * as z from 'zod';
import { type Endpoint, endpoint } from '../http/route.ts';
import { paginationOf } from '../records/base/page.ts';
import { coverageGaps, readCoverage } from '../records/coverage/read.ts';
import { judgingNow } from '../records/repositories/repository-states.ts';
import type { BackupsDeps } from './base/backups-deps.ts';
import { pageInput } from './base/input.ts';
import { sendJson } from './base/json.ts';
import { pagination, timestamp } from './base/shapes.ts';

const gap = z.enum(coverageGaps).meta({
  description:
    'excluded: by a pattern. disabled: by the git host. invalid_name: its name is never used for a file or in a git command. destination: archives are pushed there. suspended: an account on which the app may read nothing. not_installed: an account to back up on which the app is not installed. lost: it was seen before, but no longer is. empty: it has no branch or tag. no_permission: the git host refused the login. failing, never, stale: as in the list of repositories. pending: no run has tried it yet.',
});

const coverage = z
  .object({
    run_id: z
      .int()
      .nullable()
      .meta({ description: 'The last run that discovered repositories; null if none did.' }),
    seen_at: timestamp.nullable(),
    seen: z.int().meta({ description: 'How many repositories the login could see.' }),
    backed_up: z.int().meta({ description: 'How many of these are in the state good.' }),
    gaps: z
      .record(z.string(), z.int())
      .meta({ description: 'How many of the others have each gap.' }),
    data: z.array(
      z.object({
        name: z.string(),
        gap,
        reason: z.string().meta({ description: 'At most 1,000 characters; may be empty.' }),
        last_good_at: timestamp.nullable(),
      }),
    ),
    pagination,
  })
  .meta({
    id: 'Coverage',
    description: 'What the login could see, and which repositories are not backed up.',
  });

/** GET /api/coverage. */
export const coverageEndpoints: readonly Endpoint<BackupsDeps>[] = [
  endpoint(
    {
      method: 'get',
      tag: 'Repositories',
      access: 'reader',
      path: '/api/coverage',
      summary: 'Compare what the login could see with what is backed up',
      description:
        'Based on the last run that discovered repositories. data lists those that are not backed up, by gap and name.',
      query: pageInput,
      responses: { 200: { description: 'The coverage.', schema: coverage } },
    },
    async ({ query }, deps: BackupsDeps, c) => {
      const { item, items, totalItems } = await readCoverage(deps.db, query, judgingNow(deps));
      const pages = JSON.stringify(paginationOf(query, totalItems));
      return sendJson(c, `${item.slice(0, -1)},"data":${items},"pagination":${pages}}`);
    },
  ),
];
