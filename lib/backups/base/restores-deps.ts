import type { NewRestore } from '../../records/restores.ts';

/** What to restore, and where to. */
export type RestoreRequest = Pick<NewRestore, 'repository' | 'version' | 'ref' | 'isBare'> & {
  /** The name of a new folder below RESTORE_DIR; null for one that is made from the repository's name. */
  folder: string | null;
  /** The address of an empty repository, instead of a folder. */
  push: string | null;
};

/** The restores of this server. Each is the worker's command in a process of its own. */
export interface RestoreJobs {
  /** The folder below which it restores. */
  root: string;
  /**
   * Queues a restore, and returns its id. Throws CONFLICT if the folder exists or another server with this data folder
   * restores, and RATE_LIMITED if too many wait.
   */
  start(request: RestoreRequest, by: string): Promise<number>;
  /** Stops a restore. False if this server has no such restore that has not ended. */
  cancel(id: number, by: string): Promise<boolean>;
  /** Stops all restores, and records that they were interrupted. */
  close(): Promise<void>;
}
