import type { Statement } from '../../database/database.ts';
import { iso } from '../../records/base/page.ts';
import { formatBytes } from '../../text/units.ts';
import type { Rule } from './rule.ts';

const MAX_MACHINES = 100;

// Measures growth since the oldest measurement of the week before the last one. A machine that has not reported for a
// week is no longer in use.
const filling: Statement = {
  name: 'alert_disk_filling',
  text: `WITH last AS (
      SELECT DISTINCT ON (machine) * FROM archive_disks
      WHERE day >= to_char(($1::timestamptz - interval '7 days') AT TIME ZONE 'UTC', 'YYYY-MM-DD')
      ORDER BY machine, day DESC
    ), growth AS (
      SELECT last.*, (first.free_bytes - last.free_bytes)
        / (extract(epoch FROM last.measured_at - first.measured_at) / 86400) AS bytes_a_day
      FROM last CROSS JOIN LATERAL (
        SELECT * FROM archive_disks AS earlier WHERE earlier.machine = last.machine
          AND earlier.measured_at >= last.measured_at - interval '7 days'
          AND earlier.measured_at <= last.measured_at - interval '20 hours'
        ORDER BY earlier.day LIMIT 1
      ) AS first
    )
    SELECT machine, host_name, ${iso('measured_at')} AS measured_at, free_bytes::text,
      round(bytes_a_day)::text AS bytes_a_day, floor(free_bytes / bytes_a_day)::text AS days
    FROM growth WHERE bytes_a_day > 0 AND free_bytes < bytes_a_day * 14
    ORDER BY machine LIMIT ${MAX_MACHINES}`,
};

interface FillingDisk {
  machine: string;
  host_name: string;
  measured_at: string;
  free_bytes: string;
  bytes_a_day: string;
  days: string;
}

/** The disk of a machine will be full soon. */
export const diskFilling: Rule = {
  name: 'disk_filling',
  title: 'The disk for archives is filling up',
  severity: 'warning',
  when: 'At the rate of the last 7 days, the disk of the archive folder is full within 14 days. One incident per machine.',
  advice:
    'Make room, move the archive folder to a larger disk, or keep fewer versions (BACKUP_KEEP).',
  resolved:
    'The disk has room for more than 14 days again, or its worker has not reported for a week.',
  async find({ db, now }) {
    const rows = await db.query<FillingDisk>(filling, [new Date(now).toISOString()]);
    return rows.map(({ machine, host_name, measured_at, free_bytes, bytes_a_day, days }) => ({
      subject: machine,
      summary: `${host_name === '' ? 'A worker' : host_name} has ${formatBytes(Number(free_bytes))} left for archives and uses ${formatBytes(Number(bytes_a_day))} a day: full in ${days === '1' ? '1 day' : `${days} days`}`,
      details: {
        measured_at,
        free_bytes: Number(free_bytes),
        bytes_a_day: Number(bytes_a_day),
        days: Number(days),
      },
    }));
  },
};
