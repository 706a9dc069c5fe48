import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface StoreWorld {
  /** The store's address for BACKUP_STORES. */
  address: string;
  /** The number of requests since the last call. */
  countRequests(): Promise<number>;
  folder: string;
}

/** Runs work with an S3-compatible store in a separate process. */
export async function withStore(work: (world: StoreWorld) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'bench-stores-'));
  const child = fork(join(import.meta.dirname, 's3-process.ts'));
  const answer = async () => (await once(child, 'message'))[0];
  try {
    process.env.AWS_ACCESS_KEY_ID = 'S3RVER';
    process.env.AWS_SECRET_ACCESS_KEY = 'S3RVER';
    const { address } = (await answer()) as { address: string };
    const countRequests = async () => {
      child.send('count');
      return ((await answer()) as { requests: number }).requests;
    };
    await work({ address, countRequests, folder });
  } finally {
    child.disconnect();
    await once(child, 'exit');
    await rm(folder, { recursive: true });
  }
}
