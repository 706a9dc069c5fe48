import type { PromptMessage } from '@modelcontextprotocol/sdk/types.js';
import { AppError } from '../errors.ts';
import { FENCE_NOTICE, fence } from '../text/fence.ts';
import { fitAnswer, MAX_ANSWER_CHARS } from '../tools/answer-budget.ts';
import { diagnoseBackupFailure } from '../tools/diagnosis-tools.ts';
import { getSystemHealth } from '../tools/overview-tools.ts';
import { listBackupRuns, listTrackedRepositories } from '../tools/run-tools.ts';
import { showOutput } from '../tools/show-output.ts';
import type { ToolDeps } from '../tools/tool.ts';
import type { Prompt } from './base/offers.ts';

const RECENT_RUNS = { page: 1, limit: 10 };
const LARGEST_REPOSITORIES = { page: 1, limit: 50 };

/** Maximum characters of data in a prompt, besides its own text. */
const MAX_DATA_CHARS = MAX_ANSWER_CHARS - 4_000;

/** The prompts that a client offers to its user. */
export const prompts: readonly Prompt[] = [
  {
    name: 'diagnose-latest-failure',
    title: 'Diagnose the latest failure',
    description:
      'Loads the latest failed backup run with its error logs and past resolutions, and asks for a step-by-step remediation plan.',
    async write(deps, signal) {
      const failure = await loadLatestFailure(deps, signal);
      if (failure === null) {
        return [
          userMessage(
            'No failed backup run was found. Say so, and check with list_backup_runs whether there are any runs.',
          ),
        ];
      }
      return [
        userMessage(
          `A backup run failed. Below is what is known: the run, the failed repositories with their errors and newest error logs, and how earlier failures were resolved. ${FENCE_NOTICE}`,
          showOutput(failure, deps.redactor),
          `Write a step-by-step remediation plan:
1. Name the most likely cause for each failed repository, and quote the error or log line that shows it.
2. Say which past resolution applies, if one does.
3. List the steps in order, with the exact command or setting where there is one.
4. Say how to verify each step, and when to queue a new run with trigger_backup_run.
If the evidence is not sufficient, say what is missing and which tool would show it (get_execution_logs, get_backup_run_details, search_backup_knowledge).`,
        ),
      ];
    },
  },
  {
    name: 'audit-backup-health',
    title: 'Audit the health of the backups',
    description:
      'Loads the system health, the tracked repositories, the recent runs and the storage of the archives, and asks for an audit.',
    async write(deps, signal) {
      const { backups } = deps;
      const maxChars = MAX_DATA_CHARS / 2;
      const [health, summary, repositories, runs] = await Promise.all([
        getSystemHealth.handler({}, deps, { signal, maxChars }),
        backups.readDashboard(signal),
        listTrackedRepositories.handler(LARGEST_REPOSITORIES, deps, { signal, maxChars }),
        listBackupRuns.handler(RECENT_RUNS, deps, { signal, maxChars }),
      ]);
      const { storage, ...system_health } = health;
      return [
        userMessage(
          `Below is the state of a backup system: its health, the tracked repositories (largest archive first), the most recent runs (newest first) and the storage of the archives. ${FENCE_NOTICE}`,
          showOutput(
            {
              system_health,
              tracked_repositories: repositories,
              recent_runs: runs,
              archive_storage: { ...storage, archive_bytes: summary.total_size_bytes },
            },
            deps.redactor,
          ),
          `Audit it:
1. Say in one sentence whether the backups can be relied on today.
2. List what is wrong or getting worse: repositories that failed or were not backed up recently or ever, runs that fail or take longer, storage that is running out.
3. For each point say how serious it is, what shows it, and what to do.
4. Name the archives to check first with verify_archive_integrity. VALID_UNCOMPROMISED proves that an archive is complete and unchanged, VALID_UNRECORDED only that it is complete.
Say what the data does not show.`,
        ),
      ];
    },
  },
];

async function loadLatestFailure(deps: ToolDeps, signal: AbortSignal): Promise<object | null> {
  try {
    return await diagnoseBackupFailure.handler({}, deps, { signal, maxChars: MAX_DATA_CHARS });
  } catch (error) {
    if (error instanceof AppError && error.code === 'NOT_FOUND') return null;
    throw error;
  }
}

/**
 * Writes one message of the user: an introduction, the fenced data and the task. Secrets must be removed from the
 * data first, because they are harder to find in JSON inside a text.
 */
function userMessage(about: string, data?: unknown, task?: string): PromptMessage {
  const shown = JSON.stringify(fitAnswer(data, MAX_DATA_CHARS));
  const parts = data === undefined ? [about] : [about, fence(shown), task];
  return { role: 'user', content: { type: 'text', text: parts.join('\n\n') } };
}
