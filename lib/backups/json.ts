import type { Context } from 'hono';
import type { Page, PageRequest } from '../records/page.ts';

/** Answers a JSON text as it is. */
export function sendJson(c: Context, text: string): Response {
  return c.body(text, 200, { 'Content-Type': 'application/json' });
}

/** Answers a page of a list: `{data, pagination}` (spec 1, Pagination). */
export function sendPage(c: Context, { items, totalItems }: Page, request: PageRequest): Response {
  const pagination = JSON.stringify({
    page: request.page,
    limit: request.limit,
    total_items: totalItems,
    total_pages: Math.ceil(totalItems / request.limit),
  });
  return sendJson(c, `{"data":${items},"pagination":${pagination}}`);
}
