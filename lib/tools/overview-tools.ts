import { z } from 'zod';
import { integerWithDefault } from './input.ts';
import { dashboardSummary, metricsHistory } from './shapes.ts';
import { readTool } from './tool.ts';

const noInput = z.strictObject({});

/** How the system does now (spec 3, Tool behaviour 1; decisions 6). */
export const getSystemHealth = readTool({
  name: 'get_system_health',
  title: 'System health',
  description:
    'Check the database, the disk of the backup archives and the service API. HEALTHY: all answer. DEGRADED: the database answers, the archive storage or the service API does not. UNHEALTHY: no database.',
  input: noInput,
  output: z.object({
    database: z.object({
      status: z.enum(['connected', 'disconnected']),
      latency_ms: z.number().nullable(),
      pool_open_connections: z.number().nullable(),
    }),
    storage: z.object({
      archive_path: z.string(),
      total_disk_bytes: z.number().nullable(),
      available_disk_bytes: z.number().nullable(),
    }),
    backend_api: z.object({ status: z.enum(['ok', 'unreachable']), url: z.string() }),
    status: z.enum(['HEALTHY', 'DEGRADED', 'UNHEALTHY']),
  }),
  async handler(_input, { backups, system }, { signal }) {
    const [database, storage, backend_api] = await Promise.all([
      backups.checkDatabase(signal),
      system.checkStorage(),
      system.checkBackend(signal),
    ]);
    const isWhole = storage.total_disk_bytes !== null && backend_api.status === 'ok';
    const reachable = isWhole ? ('HEALTHY' as const) : ('DEGRADED' as const);
    return {
      database,
      storage,
      backend_api,
      status: database.status === 'connected' ? reachable : ('UNHEALTHY' as const),
    };
  },
});

/** The figures of all runs (spec 3, Tool behaviour 2). */
export const getDashboardSummary = readTool({
  name: 'get_dashboard_summary',
  title: 'Dashboard summary',
  description:
    'Figures over all backup runs: how many runs and repository backups there were, how many failed, the share that did not fail as a percentage, the latest run, the bytes of all archives and the repository of the largest one.',
  input: noInput,
  output: dashboardSummary.extend({ success_rate: z.string() }),
  async handler(_input, { backups }, { signal }) {
    const summary = await backups.readDashboard(signal);
    return { ...summary, success_rate: `${summary.success_rate.toFixed(2)}%` };
  },
});

/** The figures of a window of days (spec 3, Tool behaviour 3; decisions 6). */
export const getBackupMetrics = readTool({
  name: 'get_backup_metrics',
  title: 'Backup metrics',
  description:
    'Figures of the runs of the last days, in total and by UTC day, newest day first; days without a run are left out. successful and failed count repositories. aggregated_success_rate is 1 − failed / processed repositories, a fraction from 0 to 1.',
  input: z.strictObject({
    days: integerWithDefault({
      description: 'Length of the window in days.',
      min: 1,
      max: 3650,
      default: 30,
    }),
  }),
  output: z.object({ period_days: z.number(), ...metricsHistory.shape }),
  async handler({ days }, { backups }, { signal }) {
    return { period_days: days, ...(await backups.readMetrics(days, signal)) };
  },
});
