import { systemClock } from '../../lib/clock.ts';
import type { Database } from '../../lib/database/database.ts';
import { createLog } from '../../lib/log/log.ts';
import { createRedactor } from '../../lib/security/redaction/redactor.ts';
import { tools } from '../../lib/tools/catalogue.ts';
import { createDatabaseSource } from '../../lib/tools/database-source.ts';
import { runTool } from '../../lib/tools/run-tool.ts';
import type { ToolDeps } from '../../lib/tools/tool.ts';
import type { Scale } from '../api/data.ts';
import { ms, printTable, time } from '../report.ts';
import { times } from '../share.ts';

const CALLS = { runs: times(20), warmUp: times(2) };

/** Expensive calls of tools that query the database. */
const calls = ({ runs, repositories }: Scale): [string, object][] => [
  ['get_dashboard_summary', {}],
  ['get_backup_metrics', { days: 3650 }],
  ['list_tracked_repositories', { limit: 200 }],
  ['list_backup_runs', { status: 'failed', limit: 100 }],
  ['get_backup_run_details', { run_id: runs }],
  ['get_execution_logs', { limit: 200 }],
  ['get_execution_logs', { level: 'error', limit: 200 }],
  ['get_execution_logs', { repository: 'OWNER-1/repository-1', limit: 200 }],
  ['get_execution_logs', { repository: 'owner-1/repository-1', level: 'debug' }],
  ['get_execution_logs', { repository: `owner-0/repository-${repositories}` }],
  ['get_execution_logs', { repository: 'owner-1/repository-1', run_id: runs }],
  ['diagnose_backup_failure', {}],
];

/** Measures tools on a database of the given size, from the arguments to the parsed answer. */
export async function measureTools(db: Database, scale: Scale): Promise<void> {
  const log = createLog('warn', systemClock);
  // The calls above use no other handles.
  const deps = {
    redactor: createRedactor([]),
    backups: createDatabaseSource({
      ...{ db, clock: systemClock, log },
      config: { FRESHNESS_HOURS: 26 },
    }),
    clock: systemClock,
  } as unknown as ToolDeps;
  const rows: string[][] = [];
  for (const [name, given] of calls(scale)) {
    const tool = tools.find((tool) => tool.name === name);
    if (!tool) throw new Error(`there is no tool ${name}`);
    let bytes = 0;
    const { median, p95 } = await time(async () => {
      const { signal } = new AbortController();
      const outcome = await runTool(tool, given, deps, { signal, log });
      if (!outcome.ok) throw new Error(`${name} failed: ${outcome.message}`);
      bytes = Buffer.byteLength(JSON.stringify(outcome.output));
    }, CALLS);
    const size = `${(bytes / 1024).toFixed(1)} KB`;
    rows.push([name, JSON.stringify(given), ms(median), ms(p95), size]);
  }
  printTable(
    `tools over ${scale.runs * scale.resultsPerRun} results and ${scale.runs * scale.logsPerRun} logs`,
    ['Tool', 'Arguments', 'Median', 'p95', 'Answer'],
    rows,
  );
}
