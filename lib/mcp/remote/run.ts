import * as z from 'zod';
import { AppError } from '../../errors.ts';
import { latestRun, result, run } from '../../tools/shapes.ts';
import type { RemoteApi } from './api.ts';

const runWithResults = z.object({ run, results: z.array(result) });
const latest = z.object({ run: latestRun.nullable() });

/** A run with the results of its repositories. */
export type RemoteRun = z.output<typeof runWithResults>;

/** One run and its results; null when there is no such run. */
export async function readRemoteRun(
  api: RemoteApi,
  id: number,
  signal: AbortSignal,
): Promise<RemoteRun | null> {
  try {
    return await api.read(`/api/backups/${id}`, runWithResults, signal);
  } catch (error) {
    if (error instanceof AppError && error.code === 'NOT_FOUND') return null;
    throw error;
  }
}

/** The run that started last, with its fixes; null when there is no run. */
export async function readRemoteLatestRun(api: RemoteApi, signal: AbortSignal) {
  return (await api.read('/api/backups/latest', latest, signal)).run;
}
