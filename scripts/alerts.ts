import { Command } from 'commander';
import { listChannels } from '../lib/alerts/channels/list-channels.ts';
import { openAlertChannels } from '../lib/alerts/channels/open-channels.ts';
import { linkToIncidents } from '../lib/alerts/channels/page-link.ts';
import { tryChannel } from '../lib/alerts/deliveries/try-channel.ts';
import { systemClock } from '../lib/clock.ts';
import { alertSendingVariables } from '../lib/config/alert-channels.ts';
import { databaseVariables } from '../lib/config/database.ts';
import { readConfig } from '../lib/config/read.ts';
import type { Database } from '../lib/database/database.ts';
import { AppError } from '../lib/errors.ts';
import { runProgram } from './command.ts';
import { urlOfEarlierServer, withDatabase } from './database.ts';
import { loadEnvironment } from './environment.ts';

type Run = () => Promise<number>;
let run: Run = () => Promise.resolve(0);

const program = new Command('npm run alerts --')
  .description(
    'Lists and tests the alert channels: those of ALERT_CHANNELS and those added on the page.',
  )
  .showHelpAfterError();

program
  .command('list')
  .description('lists the channels, one per line, without their addresses')
  .action(() => {
    run = () => withChannels(printChannels);
  });
program
  .command('test')
  .description('sends a test message through each channel; the exit code is 1 if one fails')
  .argument('[name]', 'the only channel to test')
  .action((name: string | undefined) => {
    run = () => withChannels((db) => tryChannels(db, name));
  });

await runProgram(program, () => run());

/** Runs work with the database, or without it if there is none. If it cannot be read, the command fails in the end. */
async function withChannels(work: (db: Database | null) => Promise<number>): Promise<number> {
  const config = readConfig(databaseVariables, loadEnvironment());
  const isThere = config.DATABASE_URL !== undefined || (await urlOfEarlierServer(config)) !== null;
  if (!isThere) return work(null);
  try {
    return await withDatabase(work);
  } catch (error) {
    const reason = explainUnreadable(error);
    if (reason === null) throw error;
    process.stderr.write(`the channels added on the page cannot be read: ${reason}\n`);
    await work(null);
    return 1;
  }
}

/** Why the channels cannot be read from the database; null for other errors. This happens before anything is sent. */
function explainUnreadable(error: unknown): string | null {
  if (error instanceof AppError && error.code === 'SERVICE_UNAVAILABLE') return error.message;
  const { code } = Object(error) as { code?: unknown };
  return code === '42P01' ? 'the database lacks their table: run `npm run migrate`' : null;
}

async function printChannels(db: Database | null): Promise<number> {
  const channels = await listChannels(readSendingConfig(), db);
  if (channels.length === 0) explainNone();
  for (const { name, kind, place, source, fault } of channels) {
    const from = source === 'variable' ? 'ALERT_CHANNELS' : 'page';
    print([name, kind, place, from, ...(fault === null ? [] : [fault])].join('\t'));
  }
  return 0;
}

async function tryChannels(db: Database | null, only: string | undefined): Promise<number> {
  const config = readSendingConfig();
  const all = await openAlertChannels(config, { db, fetch, clock: systemClock });
  const channels = all.filter(({ name }) => only === undefined || name === only);
  if (channels.length === 0) {
    if (only === undefined) explainNone();
    else process.stderr.write('there is no such channel: see `npm run alerts -- list`\n');
    return 1;
  }
  const link = linkToIncidents(config);
  const outcomes = await Promise.all(
    channels.map((channel) => tryChannel(channel, { clock: systemClock, link })),
  );
  for (const [index, { name }] of channels.entries()) {
    const reason = outcomes[index] ?? null;
    print(reason === null ? `${name}: sent` : `${name}: not sent: ${reason}`);
  }
  return outcomes.every((reason) => reason === null) ? 0 : 1;
}

function readSendingConfig() {
  return readConfig(alertSendingVariables, loadEnvironment());
}

/** Not on stdout, where a program would read it as a channel. */
function explainNone(): void {
  process.stderr.write('no channels yet: set ALERT_CHANNELS, or add one on the page\n');
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
