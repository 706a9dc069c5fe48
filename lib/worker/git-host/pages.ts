import type { z } from 'zod';
import { AppError } from '../../platform/errors.ts';
import type { GitHostClient } from './client.ts';

const PAGE_SIZE = 100;
/** 100,000 entries; a host whose pages never end must not be followed for ever. */
const MOST_PAGES = 1_000;

/**
 * Every page of a list of the API. Pages are asked for by number: the addresses in the host's `Link`
 * header only say that there is another, so that no answer sends our token elsewhere. Throws
 * SERVICE_UNAVAILABLE for a list that does not end: what is beyond must not count as gone.
 */
export async function* listPages<Page>(
  client: GitHostClient,
  route: string,
  parameters: Record<string, unknown>,
  shape: z.ZodType<Page>,
  mostPages = MOST_PAGES,
): AsyncGenerator<Page> {
  for (let page = 1; page <= mostPages; page++) {
    const { data, headers } = await client.request(route, {
      ...parameters,
      per_page: PAGE_SIZE,
      page,
    });
    yield shape.parse(data);
    if (!/;\s*rel="?next"?/.test(headers.link ?? '')) return;
  }
  throw new AppError('SERVICE_UNAVAILABLE', `the git host's list has more than ${mostPages} pages`);
}
