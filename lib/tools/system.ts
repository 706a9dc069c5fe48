/** Room on the disk of the archives, in bytes. */
export interface StorageFacts {
  archive_path: string;
  /** Null when the folder of the archives cannot be reached. */
  total_disk_bytes: number | null;
  /** Null when the folder of the archives cannot be reached. */
  available_disk_bytes: number | null;
}

/** Whether the service API answers, and where it is asked. */
export interface BackendFacts {
  status: 'ok' | 'unreachable';
  url: string;
}

/** What get_system_health tells beside the database. Neither check throws. */
export interface SystemFacts {
  checkStorage(): Promise<StorageFacts>;
  checkBackend(signal: AbortSignal): Promise<BackendFacts>;
}
