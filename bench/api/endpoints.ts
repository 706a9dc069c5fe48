import type { Scale } from './data.ts';

/** A read endpoint, and the plain statements that produce the same response. */
export interface MeasuredEndpoint {
  path: string;
  /** The statements of a program without summaries, skip scans and seeks. */
  plain: string[];
  /** The goal: how many times faster than the plain statements the endpoint has to be. */
  faster?: number;
}

const wholeTable =
  'SELECT count(DISTINCT repo_full_name), sum(archive_size_bytes), max(archive_size_bytes) FROM backup_results';
const page = (table: string, order: string, where = '', offset = 0) => [
  `SELECT count(*) FROM ${table} ${where}`,
  `SELECT * FROM ${table} ${where} ORDER BY ${order} LIMIT 50 OFFSET ${offset}`,
];
const newestLogs = 'created_at DESC, id DESC';

/** Every read endpoint, with and without its filters. */
export function measuredEndpoints({ runs, logsPerRun }: Scale): MeasuredEndpoint[] {
  const run = runs / 2;
  const logs = runs * logsPerRun;
  const infoLogs = (logs * 12) / 20;
  return [
    { path: '/api/backups', plain: page('backup_runs', 'started_at DESC, id DESC') },
    { path: '/api/backups?limit=500', plain: page('backup_runs', 'started_at DESC, id DESC') },
    {
      path: '/api/backups/latest',
      plain: ['SELECT * FROM backup_runs ORDER BY started_at DESC LIMIT 1'],
    },
    {
      path: `/api/backups/${run}`,
      plain: [
        `SELECT * FROM backup_runs WHERE id = ${run}`,
        `SELECT * FROM backup_results WHERE run_id = ${run} ORDER BY id`,
      ],
    },
    { path: '/api/dashboard/stats', plain: [wholeTable], faster: 25 },
    { path: '/api/metrics', plain: [wholeTable], faster: 25 },
    { path: '/api/metrics?days=3650', plain: [wholeTable] },
    {
      path: '/api/analytics/history',
      plain: page('analytics_snapshots', 'captured_at DESC, id DESC'),
    },
    {
      path: '/api/analytics/latest',
      plain: ['SELECT * FROM analytics_snapshots ORDER BY captured_at DESC LIMIT 1'],
    },
    {
      path: `/api/analytics/${run}`,
      plain: [`SELECT * FROM analytics_snapshots WHERE run_id = ${run}`],
    },
    {
      path: '/api/repos',
      plain: [
        `SELECT * FROM (SELECT DISTINCT ON (repo_full_name) * FROM backup_results
          ORDER BY repo_full_name, created_at DESC, id DESC) AS newest
         ORDER BY archive_size_bytes DESC LIMIT 50`,
      ],
      faster: 25,
    },
    {
      path: '/api/repos?order=worst',
      plain: [
        `SELECT repo_full_name, max(created_at) FILTER (WHERE status IN ('completed', 'success', 'empty'))
         FROM backup_results GROUP BY 1 ORDER BY 2 NULLS FIRST LIMIT 50`,
      ],
      faster: 25,
    },
    {
      path: '/api/repos/owner-7/repository-7',
      plain: [
        `SELECT * FROM backup_results WHERE lower(repo_full_name) = 'owner-7/repository-7'
         ORDER BY created_at DESC, id DESC LIMIT 1`,
      ],
    },
    {
      path: '/api/repos/owner-7/repository-7/history',
      plain: page(
        'backup_results',
        newestLogs,
        "WHERE lower(repo_full_name) = 'owner-7/repository-7'",
      ),
    },
    {
      path: '/api/overview',
      plain: [
        `SELECT repo_full_name, max(created_at) FILTER (WHERE status IN ('completed', 'success', 'empty'))
         FROM backup_results GROUP BY 1`,
      ],
      faster: 25,
    },
    { path: '/api/logs', plain: page('execution_logs', newestLogs) },
    {
      path: '/api/logs?level=info',
      plain: page('execution_logs', newestLogs, "WHERE lower(level) = 'info'"),
    },
    {
      path: '/api/logs?level=error',
      plain: page('execution_logs', newestLogs, "WHERE lower(level) = 'error'"),
    },
    {
      path: `/api/logs?run_id=${run}`,
      plain: page('execution_logs', newestLogs, `WHERE run_id = ${run}`),
    },
    {
      path: `/api/logs?run_id=${run}&level=error`,
      plain: page('execution_logs', newestLogs, `WHERE run_id = ${run} AND lower(level) = 'error'`),
    },
    {
      path: `/api/logs?page=${logs / 100}`,
      plain: page('execution_logs', newestLogs, '', logs / 2),
    },
    {
      path: `/api/logs?page=${logs / 50}`,
      plain: page('execution_logs', newestLogs, '', logs - 50),
    },
    {
      path: `/api/logs?level=info&page=${infoLogs / 50}`,
      plain: page('execution_logs', newestLogs, "WHERE lower(level) = 'info'", infoLogs - 50),
    },
    {
      path: '/api/logs?repository=owner-7/repository-7',
      plain: page('execution_logs', newestLogs, "WHERE lower(repository) = 'owner-7/repository-7'"),
    },
    {
      path: '/api/logs?text=repository-7',
      plain: page('execution_logs', newestLogs, "WHERE message ILIKE '%repository-7%'"),
    },
    {
      path: `/api/logs?text=step&run_id=${run}`,
      plain: page('execution_logs', newestLogs, `WHERE run_id = ${run} AND message ILIKE '%step%'`),
    },
    { path: '/health', plain: ['SELECT 1'] },
    { path: '/ready', plain: ['SELECT 1'] },
  ];
}
