import { MAX_ANSWER_CHARS } from '../tools/answer-budget.ts';
import { getSystemHealth } from '../tools/overview-tools.ts';
import { fitFixes, olderFixes } from '../tools/run-tools.ts';
import type { Resource } from './base/offers.ts';

/** The resources, which clients can show without calling a tool. */
export const resources: readonly Resource[] = [
  {
    uri: 'backup://system/health',
    name: 'system health state',
    title: 'System health',
    description:
      'Whether the database, the archive storage and the service API answer, the repositories by state, which of them restore drills have proven restorable, and the open incidents, as returned by get_system_health.',
    read: async (deps, signal) =>
      getSystemHealth.handler({}, deps, { signal, maxChars: MAX_ANSWER_CHARS }),
  },
  {
    uri: 'backup://runs/latest',
    name: 'latest backup run summary',
    title: 'Latest backup run',
    description:
      'The backup run that started last, with its linked fixes; run is null if there is none.',
    async read({ backups }, signal) {
      const run = await backups.readLatestRun(signal);
      if (run === null) return { run };
      const fixes = fitFixes(run.fixes, MAX_ANSWER_CHARS / 2);
      const missing = run.fixes.length - fixes.length;
      return { run: { ...run, fixes }, ...(missing > 0 ? { more: olderFixes(missing) } : {}) };
    },
  },
];
