import * as z from 'zod';
import { readConfig } from '../../config/read.ts';
import { confirmOpen, listAnomalies } from '../../records/anomalies/list.ts';
import { cleanText } from '../../text/clean-text.ts';
import { counted } from '../../text/units.ts';
import { commandAlertVariables, raiseAfterCommand } from '../base/command-alerts.ts';
import { contextVariables, type WorkerOptions, withDatabase } from '../base/command-context.ts';
import { describeUser } from './person.ts';
import type { AnomalyCommand } from './review-commands.ts';

/** How many anomalies are listed. */
const MAX_LISTED = 200;

interface Listed {
  repository: string | null;
  version: number | null;
  kind: string;
  change_count: number;
  before: Record<string, string>;
  after: Record<string, string>;
  seen_at: string;
}

/** Lists or confirms anomalies, and returns the exit code: 1 if there is nothing to confirm. */
export function runAnomalies(options: WorkerOptions, command: AnomalyCommand): Promise<number> {
  const variables = z.object({ ...contextVariables, ...commandAlertVariables.shape });
  const config = readConfig(variables, options.environment);
  const { stdout } = options.io;
  return withDatabase(options, config, async (context) => {
    const { db } = context;
    if (command.name === 'anomalies-confirm') {
      const { repository } = command;
      const confirmed = await confirmOpen(db, repository, describeUser());
      const what = cleanText(repository ?? 'all repositories', 300);
      const count = counted(confirmed, 'anomaly', 'anomalies');
      stdout.write(
        confirmed === 0
          ? `Nothing to confirm for ${what}.\n`
          : `Confirmed ${count} of ${what}: no longer holding back versions from the next run on.\n`,
      );
      if (confirmed > 0) await raiseAfterCommand(context, config);
      return confirmed === 0 ? 1 : 0;
    }
    const request = { page: 1, limit: MAX_LISTED };
    const { items, totalItems } = await listAnomalies(db, request, { open: true });
    for (const item of JSON.parse(items) as Listed[]) stdout.write(`${describe(item)}\n`);
    const shown = totalItems > MAX_LISTED ? ` (${MAX_LISTED} shown)` : '';
    stdout.write(
      totalItems === 0
        ? 'Nothing to confirm.\n'
        : `${totalItems} to confirm${shown}: npm run worker -- anomalies confirm REPOSITORY\n`,
    );
    return 0;
  });
}

function describe({ repository, version, kind, seen_at, ...what }: Listed): string {
  const changes = Object.entries(what.before).map(
    ([name, before]) => `${name} ${before} → ${what.after[name] ?? 'gone'}`,
  );
  const noted = changes.length === 0 ? Object.values(what.after) : changes;
  const more = what.change_count > noted.length ? `, … (${what.change_count})` : '';
  const where = repository === null ? 'all repositories' : `${repository} version ${version}`;
  return cleanText(`${seen_at} ${where}: ${kind}: ${noted.join(', ')}${more}`, 2_000);
}
