import type { Context } from 'hono';
import { type Page, type PageRequest, paginationOf } from '../../records/base/page.ts';

/** Responds with text that is already JSON. */
export function sendJson(c: Context, text: string): Response {
  return c.body(text, 200, { 'Content-Type': 'application/json' });
}

/** Responds with one page of a list: `{data, pagination}`, and `truncated` if more items may match. */
export function sendPage(
  c: Context,
  { items, totalItems }: Page,
  request: PageRequest,
  isCut = false,
): Response {
  const pagination = JSON.stringify(paginationOf(request, totalItems));
  const truncated = isCut ? ',"truncated":true' : '';
  return sendJson(c, `{"data":${items},"pagination":${pagination}${truncated}}`);
}
