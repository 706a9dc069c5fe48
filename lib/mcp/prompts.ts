import type { PromptMessage } from '@modelcontextprotocol/sdk/types.js';
import { AppError } from '../platform/errors.ts';
import { FENCE_NOTICE, fence } from '../platform/fence.ts';
import { diagnoseBackupFailure } from '../tools/diagnosis-tools.ts';
import type { ToolHandles } from '../tools/index.ts';
import { getSystemHealth } from '../tools/overview-tools.ts';
import type { Prompt } from './offers.ts';

const RECENT_RUNS = { page: 1, limit: 10 };
const LARGEST_REPOSITORIES = { page: 1, limit: 50 };

/** The prompts of spec 3, Resources and their fields. */
export const prompts: readonly Prompt[] = [
  {
    name: 'diagnose-latest-failure',
    title: 'Diagnose the latest failure',
    description:
      'Loads the latest failed backup run, its error logs and past resolutions, and asks for a step-by-step remediation plan.',
    async write(handles, signal) {
      const failure = await loadLatestFailure(handles, signal);
      if (failure === null) {
        return [
          say(
            'No failed backup run was found. Say so, and check with list_backup_runs whether runs happen at all.',
          ),
        ];
      }
      return [
        say(
          `A backup run failed. Below is what is known: the run, the repositories that failed with their errors and newest error logs, and how failures were resolved before. ${FENCE_NOTICE}`,
          failure,
          `Write a step-by-step remediation plan:
1. Name the most likely cause for each failed repository, and quote the error or log line that shows it.
2. Say which past resolution applies, if one does.
3. List the steps in the order in which to take them, with the exact command or setting where there is one.
4. Say how to verify each step, and when to queue a new run with trigger_backup_run.
If the evidence does not suffice, say what is missing and which tool would show it (get_execution_logs, get_backup_run_details, search_backup_knowledge).`,
        ),
      ];
    },
  },
  {
    name: 'audit-backup-health',
    title: 'Audit the health of the backups',
    description:
      'Loads the system health, the tracked repositories, the recent runs and the storage of the archives, and asks for an audit.',
    async write(handles, signal) {
      const { backups } = handles;
      const [health, summary, repositories, runs] = await Promise.all([
        getSystemHealth.handler({}, handles, { signal }),
        backups.readDashboard(signal),
        backups.listRepositories(LARGEST_REPOSITORIES, signal),
        backups.listRuns(RECENT_RUNS, undefined, signal),
      ]);
      const { storage, ...system_health } = health;
      return [
        say(
          `Below is the state of a backup system: its health, the tracked repositories (largest archive first), the most recent runs (newest first) and the storage of the archives. ${FENCE_NOTICE}`,
          {
            system_health,
            tracked_repositories: repositories,
            recent_runs: runs,
            archive_storage: { ...storage, archive_bytes: summary.total_size_bytes },
          },
          `Audit it:
1. Say in one sentence whether the backups can be relied on today.
2. List what is wrong or getting worse: repositories that failed, that were not backed up lately or never, runs that fail or take longer, storage that runs out.
3. For each point say how serious it is, what shows it, and what to do.
4. Name the archives that are worth a verify_archive_integrity first.
Say what the data cannot tell.`,
        ),
      ];
    },
  },
];

async function loadLatestFailure(handles: ToolHandles, signal: AbortSignal): Promise<unknown> {
  try {
    return await diagnoseBackupFailure.handler({ run_id: undefined }, handles, { signal });
  } catch (error) {
    if (error instanceof AppError && error.code === 'NOT_FOUND') return null;
    throw error;
  }
}

/** One message of the user: what it is about, the data that it is about, fenced, and what to do. */
function say(about: string, data?: unknown, task?: string): PromptMessage {
  const parts = data === undefined ? [about] : [about, fence(JSON.stringify(data, null, 1)), task];
  return { role: 'user', content: { type: 'text', text: parts.join('\n\n') } };
}
