import { statfs } from 'node:fs/promises';
import type { Log } from '../log.ts';

/** Room on the disk of the archives, in bytes; null when their folder cannot be reached. */
export interface StorageFacts {
  archive_path: string;
  total_disk_bytes: number | null;
  available_disk_bytes: number | null;
}

/** Whether the service API answers, and where it is asked; an empty address when none is known. */
export interface BackendFacts {
  status: 'ok' | 'unreachable';
  url: string;
}

/** What get_system_health tells beside the database. Neither check throws. */
export interface SystemFacts {
  checkStorage(): Promise<StorageFacts>;
  checkBackend(signal: AbortSignal): Promise<BackendFacts>;
}

/** Longest wait for the service API. */
const BACKEND_WITHIN_MS = 2_000;

export interface SystemFactsDeps {
  /** Folder of the archives. */
  archivePath: string;
  /** The address of the service API now, whose `/health` is asked; null when none is known. */
  findBackend(): Promise<string | null>;
  fetch: typeof fetch;
  log: Log;
}

/** Looks at the disk of the archives and at the service API. */
export function createSystemFacts({
  archivePath,
  findBackend,
  fetch,
  log,
}: SystemFactsDeps): SystemFacts {
  return {
    async checkStorage() {
      try {
        const { bsize, blocks, bavail } = await statfs(archivePath);
        // So a runtime without a disk answers, whatever it is asked about.
        if (blocks === 0) throw new Error('there is no disk');
        return {
          archive_path: archivePath,
          total_disk_bytes: blocks * bsize,
          available_disk_bytes: bavail * bsize,
        };
      } catch (error) {
        log.warn('the folder of the archives cannot be reached', { error });
        return { archive_path: archivePath, total_disk_bytes: null, available_disk_bytes: null };
      }
    },
    async checkBackend(signal) {
      const address = await findBackend();
      if (address === null) return { status: 'unreachable', url: '' };
      const url = withoutCredentials(address);
      try {
        const response = await fetch(`${address}/health`, {
          redirect: 'error',
          signal: AbortSignal.any([signal, AbortSignal.timeout(BACKEND_WITHIN_MS)]),
        });
        await response.body?.cancel();
        if (!response.ok) throw new Error(`/health answered ${response.status}`);
        return { status: 'ok', url };
      } catch (error) {
        log.warn('the service API does not answer', { error });
        return { status: 'unreachable', url };
      }
    },
  };
}

function withoutCredentials(address: string): string {
  const url = new URL(address);
  url.username = '';
  url.password = '';
  return url.href.replace(/\/+$/, '');
}
