import { type ArchiveFolder, measureArchiveFolder } from '../archives/archive-folder.ts';
import { toOwnServer } from '../http/own-server.ts';
import type { Log } from '../log/log.ts';

/** The archive folder; its space is null if it cannot be read. */
export type StorageFacts =
  | ArchiveFolder
  | { archive_path: string; total_disk_bytes: null; available_disk_bytes: null };

/** Whether the service API answers, and its address; empty if none is known. */
export interface BackendFacts {
  status: 'ok' | 'unreachable';
  url: string;
}

/** The checks of get_system_health besides the database. They never throw. */
export interface SystemFacts {
  checkStorage(): Promise<StorageFacts>;
  checkBackend(signal: AbortSignal): Promise<BackendFacts>;
}

/** Maximum wait for the service API. */
const BACKEND_WITHIN_MS = 2_000;

export interface SystemFactsDeps {
  /** Folder of the archives. */
  archivePath: string;
  /** Returns the current address of the service API, whose `/health` is asked; null if none is known. */
  findBackend(): Promise<string | null>;
  fetch: typeof fetch;
  log: Log;
}

/** Checks the disk of the archives and the service API. */
export function createSystemFacts({
  archivePath,
  findBackend,
  fetch,
  log,
}: SystemFactsDeps): SystemFacts {
  return {
    async checkStorage() {
      try {
        return await measureArchiveFolder(archivePath);
      } catch (error) {
        log.warn('the folder of the archives cannot be read', { error });
        return { archive_path: archivePath, total_disk_bytes: null, available_disk_bytes: null };
      }
    },
    async checkBackend(signal) {
      const address = await findBackend();
      if (address === null) return { status: 'unreachable', url: '' };
      const url = withoutCredentials(address);
      try {
        const response = await fetch(`${address}/health`, {
          ...toOwnServer(address),
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
