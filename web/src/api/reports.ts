import { keepPreviousData, queryOptions } from '@tanstack/react-query';
import { api, body, type Schemas } from './client.ts';

const PAGE_SIZE = 20;

/** A page of the user's reports, newest first, and whether there are older ones. */
export const reports = (page: number) =>
  queryOptions({
    queryKey: ['reports', 'page', page],
    queryFn: async () => {
      // The response has no total: reading the first report of the next page shows whether there is one.
      const [shown, next] = await Promise.all([
        read({ page, limit: PAGE_SIZE }),
        read({ page: page * PAGE_SIZE + 1, limit: 1 }),
      ]);
      return { shown, hasOlder: next.length > 0 };
    },
    placeholderData: keepPreviousData,
  });

/** One report. */
export const report = (id: string) =>
  queryOptions({
    queryKey: ['reports', id],
    queryFn: async () => (await body(api.GET('/reports/{id}', { params: { path: { id } } }))).data,
  });

/** Creates a report of what the database holds now. */
export async function makeReport(wanted: Schemas['NewReport']): Promise<Schemas['Report']> {
  return (await body(api.POST('/reports', { body: wanted }))).data;
}

/** Mails a report. */
export async function sendReport(delivery: {
  report_id: string;
  recipients: string[];
}): Promise<Schemas['Report']> {
  return (await body(api.POST('/reports/send', { body: delivery }))).data;
}

async function read(query: { page: number; limit: number }): Promise<Schemas['Report'][]> {
  return (await body(api.GET('/reports', { params: { query } }))).data;
}
