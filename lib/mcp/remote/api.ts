import type { z } from 'zod';
import { AppError } from '../../errors.ts';
import { callInternalService, type InternalService } from '../../http/internal-service.ts';
import { parseJson } from '../../json.ts';
import { pageOf } from '../../tools/shapes.ts';

/** A list of the service API. */
export interface RemoteList<Item extends z.ZodType> {
  path: string;
  item: Item;
  /** Returns the unique key of an item. */
  keyOf(item: z.output<Item>): unknown;
  /** Maximum number of pages to read. */
  maxPages: number;
  /** Items on a page. Default 500, the maximum of the service API. */
  pageSize?: number;
}

/** Reads the service API at BACKEND_URL. */
export interface RemoteApi {
  /** Reads a path and checks the answer against a schema. Throws AppError (`callInternalService`). */
  read<Schema extends z.ZodType>(
    path: string,
    schema: Schema,
    signal: AbortSignal,
  ): Promise<z.output<Schema>>;
  /**
   * Yields the items of a list page by page, without duplicates if rows are added in between. Stops after
   * `maxPages`.
   */
  readPages<Item extends z.ZodType>(
    list: RemoteList<Item>,
    signal: AbortSignal,
  ): AsyncGenerator<{ items: z.output<Item>[]; isLast: boolean }>;
}

/** The largest page of the service API. */
const PAGE_SIZE = 500;

/** Reads the service API with the internal secret. */
export function createRemoteApi(service: InternalService): RemoteApi {
  const read: RemoteApi['read'] = async (path, schema, signal) => {
    const { text } = await callInternalService(service, { path, signal });
    const parsed = schema.safeParse(parseJson(text));
    if (parsed.success) return parsed.data;
    throw new AppError(
      'SERVICE_UNAVAILABLE',
      `${service.name} answered ${path.split('?')[0]} with an unexpected body`,
      { cause: parsed.error },
    );
  };
  return {
    read,
    async *readPages({ path, item, keyOf, maxPages, pageSize = PAGE_SIZE }, signal) {
      const seen = new Set<unknown>();
      for (let page = 1; page <= maxPages; page++) {
        const query = `${path.includes('?') ? '&' : '?'}page=${page}&limit=${pageSize}`;
        const { data, pagination } = await read(`${path}${query}`, pageOf(item), signal);
        const items = data.filter((item) => !seen.has(keyOf(item)));
        for (const item of items) seen.add(keyOf(item));
        const isLast = data.length === 0 || page >= pagination.total_pages;
        yield { items, isLast };
        if (isLast) return;
      }
    },
  };
}
