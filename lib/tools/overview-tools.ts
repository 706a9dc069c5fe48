import * as z from 'zod';
import { MAX_MOST_NEEDED, PROOF_DAYS } from '../records/drills/states.ts';
import { counted } from '../text/units.ts';
import { fitItems, restFields, restOf, roomBeside, takeFitting } from './answer-budget.ts';
import { cursorParameter, integerWithDefault } from './input.ts';
import {
  dashboardSummary,
  metricsHistory,
  openIncidents,
  restoreProofs,
  stateCounts,
} from './shapes.ts';
import { readTool } from './tool.ts';

/** What to do if no address of a service API is known. */
const NO_SERVER =
  'no server is known: start one with `npm start`, or set BACKEND_URL to the address of one';

/** Unlike other tools, those without parameters ignore unknown ones: some clients always send one. */
const noInput = z.object({});

/** Checks the state of the system. */
export const getSystemHealth = readTool({
  name: 'get_system_health',
  title: 'System health',
  description: `Check the database, the disk of the backup archives and the service API. HEALTHY: all of them answer, and no critical incident is open. DEGRADED: the database answers, but one of these is not so; problems says which. UNHEALTHY: the database does not answer. repositories counts the repositories by the state of their backup: good; stale, not checked for too long; failing; lost, no longer at its source; never backed up; gone, whose archive is missing while no store has a copy. restore_proofs counts them by whether a restore drill has proven them restorable: proven in the last ${PROOF_DAYS} days; overdue, longer ago; never; failing, of which a drill failed and none has proven it since. Its most_needed names at most ${MAX_MOST_NEEDED} repositories, those of which a drill failed first, then those never proven, then those whose proof is oldest, each with when (proven_at) and from where (storage) it was last proven restorable. incidents are the open ones, that of lost archives first, then other critical ones, then the newest, at most 20 (more says how many of them did not fit): what somebody was or will be told, such as a failed run, a login that is refused, or a store that is unreachable; with what to do (advice) and up to 10 of the repositories that each concerns.`,
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
    problems: z.array(z.string()).optional(),
    repositories: stateCounts.nullable(),
    incidents: openIncidents,
    restore_proofs: restoreProofs.nullable(),
    message: z.string().optional(),
    ...restFields,
  }),
  async handler(_input, { backups, system }, { signal, maxChars }) {
    const [database, storage, backend_api] = await Promise.all([
      backups.checkDatabase(signal),
      system.checkStorage(),
      system.checkBackend(signal),
    ]);
    const isConnected = database.status === 'connected';
    const [repositories, proofs, incidents] = isConnected
      ? await Promise.all([
          backups.countStates(signal),
          backups.readProofs(signal),
          backups.readIncidents(signal),
        ])
      : [null, null, null];
    const critical = incidents?.filter(({ severity }) => severity === 'critical').length ?? 0;
    const problems = [
      ...(storage.total_disk_bytes === null ? ['the archive storage cannot be read'] : []),
      ...(backend_api.status === 'ok' ? [] : ['the service API does not answer']),
      ...(critical > 0
        ? [`${counted(critical, 'critical incident is', 'critical incidents are')} open`]
        : []),
    ];
    const working = problems.length === 0 ? ('HEALTHY' as const) : ('DEGRADED' as const);
    const restore_proofs = proofs && {
      ...proofs,
      most_needed: fitItems(proofs.most_needed, maxChars / 4),
    };
    const shown = incidents && fitItems(incidents, maxChars / 2);
    const hidden = (incidents?.length ?? 0) - (shown?.length ?? 0);
    return {
      database,
      storage,
      backend_api,
      status: isConnected ? working : ('UNHEALTHY' as const),
      ...(problems.length > 0 ? { problems } : {}),
      repositories,
      incidents: shown,
      restore_proofs,
      ...(backend_api.url === '' ? { message: NO_SERVER } : {}),
      ...(hidden > 0
        ? {
            truncated: true as const,
            more: `${counted(hidden, 'further open incident')}, which did not fit`,
          }
        : {}),
    };
  },
});

/** Reads the figures of all runs. */
export const getDashboardSummary = readTool({
  name: 'get_dashboard_summary',
  title: 'Dashboard summary',
  description:
    'Read the overall figures of all backup runs: how many runs and repository backups there were, how many succeeded and failed, the percentage that did not fail, the latest run, the bytes of all archives, the repository with the largest one, and how many repositories are in each state. Use it for questions about totals and the overall success rate; for whether all is well now, use get_system_health, and for a period, get_backup_metrics. An empty repository, which has nothing to archive, counts as successful; get_backup_run_details says how many were empty.',
  input: noInput,
  output: dashboardSummary.extend({ success_rate: z.string() }),
  async handler(_input, { backups }, { signal }) {
    const summary = await backups.readDashboard(signal);
    return { ...summary, success_rate: `${summary.success_rate.toFixed(2)}%` };
  },
});

/** Reads the figures of the last days. */
export const getBackupMetrics = readTool({
  name: 'get_backup_metrics',
  title: 'Backup metrics',
  description:
    'Read the figures of the runs of the last days, in total and by UTC day, newest day first. Days without a run are left out. successful and failed count repositories; an empty one counts as successful. aggregated_success_rate is 1 − failed / processed repositories, from 0 to 1.',
  input: z.strictObject({
    days: integerWithDefault({
      description: 'Number of days.',
      min: 1,
      max: 3650,
      default: 30,
    }),
    cursor: cursorParameter,
  }),
  output: z.object({ period_days: z.number(), ...metricsHistory.shape, ...restFields }),
  async handler({ days, cursor: offset = 0 }, { backups }, { signal, maxChars }) {
    const { history: whole, ...figures } = await backups.readMetrics(days, signal);
    const history = takeFitting(whole.slice(offset), roomBeside(figures, maxChars));
    const rest = restOf('days', { offset, shown: history.length, total: whole.length });
    return { period_days: days, ...figures, history, ...rest };
  },
});
