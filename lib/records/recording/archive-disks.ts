import type { Database, Statement } from '../../database/database.ts';

/** The disk space for archives on a machine. */
export interface MeasuredDisk {
  /** The id in its DATA_DIR. */
  machine: string;
  hostName: string;
  freeBytes: number;
  totalBytes: number;
}

// One row per day and machine, kept for as long as growth is computed from it.
const upsert: Statement = {
  name: 'record_archive_disk',
  text: `WITH old AS (
      DELETE FROM archive_disks WHERE measured_at < $5::timestamptz - interval '30 days'
    )
    INSERT INTO archive_disks (machine, day, host_name, measured_at, free_bytes, total_bytes)
    VALUES ($1, to_char($5::timestamptz AT TIME ZONE 'UTC', 'YYYY-MM-DD'), $2, $5::timestamptz, $3::bigint, $4::bigint)
    ON CONFLICT (machine, day) DO UPDATE SET host_name = excluded.host_name, measured_at = excluded.measured_at,
      free_bytes = excluded.free_bytes, total_bytes = excluded.total_bytes`,
};

/**
 * Records the disk space of a machine at `now`, in milliseconds since the epoch. The last record of each day is kept.
 */
export async function recordDiskRoom(
  db: Database,
  { machine, hostName, freeBytes, totalBytes }: MeasuredDisk,
  now: number,
): Promise<void> {
  const values = [machine, hostName, freeBytes, totalBytes, new Date(now).toISOString()];
  await db.query(upsert, values);
}
