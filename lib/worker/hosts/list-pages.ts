import type { z } from 'zod';
import { AppError } from '../../errors.ts';
import type { GitHostClient } from './client.ts';

const PAGE_SIZE = 100;
/** 100,000 entries, in case a host's pages never end. */
const MAX_PAGES = 1_000;

/**
 * Yields every page of a list. Pages are requested by number; the `Link` header only says whether there is
 * another one, so that no response can direct our token elsewhere. Throws SERVICE_UNAVAILABLE for a list that
 * does not end, because unlisted repositories would count as deleted.
 */
export async function* listPages<Page>(
  client: GitHostClient,
  route: string,
  parameters: Record<string, unknown>,
  shape: z.ZodType<Page>,
  maxPages = MAX_PAGES,
): AsyncGenerator<Page> {
  for (let page = 1; page <= maxPages; page++) {
    const { data, headers } = await client.request(route, {
      ...parameters,
      per_page: PAGE_SIZE,
      page,
    });
    yield shape.parse(data);
    if (!/;\s*rel="?next"?/.test(headers.link ?? '')) return;
  }
  throw new AppError('SERVICE_UNAVAILABLE', `the git host's list has more than ${maxPages} pages`);
}
