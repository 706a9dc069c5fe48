import * as z from 'zod';
import { archivePath, archiveVariables } from '../../config/archives.ts';
import { freshnessVariables } from '../../config/freshness.ts';
import { gitHostVariables } from '../../config/git-host.ts';
import { readConfig } from '../../config/read.ts';
import { type ConfiguredSource, readSource, sourceVariables } from '../../config/sources.ts';
import type { Database } from '../../database/database.ts';
import { checkGit } from '../../git/git-version.ts';
import { judgingNow } from '../../records/repositories/repository-states.ts';
import { listNamedOnlyBy } from '../../records/sources/named-only.ts';
import { listSourceOutcomes, type SourceOutcome } from '../../records/sources/outcomes.ts';
import {
  addSource,
  changeSource,
  listSources,
  MAX_SOURCES,
  removeSource,
  type TrackedSource,
} from '../../records/sources/sources.ts';
import type { SourceTrial } from '../../records/sources/trial.ts';
import { cleanText } from '../../text/clean-text.ts';
import { AddressError } from '../../text/source-address.ts';
import { counted, countRepositories, formatBytes } from '../../text/units.ts';
import { commandAlertVariables, raiseAfterCommand } from '../base/command-alerts.ts';
import {
  type CommandContext,
  contextVariables,
  type WorkerOptions,
  withDatabase,
} from '../base/command-context.ts';
import { describeUser } from '../review/person.ts';
import { forgetNamed } from '../review/run-forget.ts';
import { askSizeOnHost } from './size-on-host.ts';
import type { SourceCommand } from './source-commands.ts';
import { trySource } from './try-source.ts';

const variables = z.object({
  ...contextVariables,
  ...commandAlertVariables.shape,
  ...archiveVariables.shape,
  ...gitHostVariables.shape,
  ...freshnessVariables.shape,
  ...sourceVariables.shape,
});

type SourcesConfig = z.output<typeof variables>;
type Say = (text: string) => void;

/** How many repositories of a folder are named. */
const MAX_NAMED = 50;

/** Lists, adds, removes or pauses sources. Returns the exit code: 1 if one was refused, or does not exist. */
export function runSources(options: WorkerOptions, command: SourceCommand): Promise<number> {
  const config = readConfig(variables, options.environment);
  const say = (text: string) => void options.io.stdout.write(`${cleanText(text, 4_000)}\n`);
  return withDatabase(options, config, async (context) => {
    switch (command.name) {
      case 'sources-list':
        return list(context, config, command.isJson);
      case 'sources-add':
        return add(context, config, command, say);
      case 'sources-remove':
        return remove(context, config, command, say);
      default:
        return pause(context, config, command, say);
    }
  });
}

async function list(
  { db, clock, io }: CommandContext,
  config: SourcesConfig,
  isJson: boolean,
): Promise<number> {
  const judging = judgingNow({ clock, config });
  const { BACKUP_SOURCES: configured, GIT_HOST_URL: hostUrl } = config;
  const sources = await listSourceOutcomes(db, configured, judging, hostUrl);
  const lines = isJson
    ? [JSON.stringify(sources.map(asJson))]
    : sources.map((source) => cleanText(describe(source)));
  for (const line of lines) io.stdout.write(`${line}\n`);
  return 0;
}

function asJson(source: SourceOutcome) {
  const { id, kind, address, exclude, repositories, failing, fault } = source;
  return {
    ...{ id, kind, address, exclude, set_by: source.setBy, paused_at: source.pausedAt },
    ...{ repositories, failing, last_read_at: source.lastReadAt, fault: fault?.reason ?? null },
  };
}

function describe(source: SourceOutcome): string {
  const { id, kind, exclude, setBy, pausedAt, repositories, failing, lastReadAt } = source;
  const facts = [
    kind === 'login' ? 'what the login discovers' : kind,
    ...(setBy === null ? [] : [`set by ${setBy}`]),
    ...(pausedAt === null ? [] : [`paused since ${pausedAt}`]),
    ...(exclude.length === 0 ? [] : [`without ${exclude.join(', ')}`]),
    countRepositories(repositories),
    ...(failing === 0 ? [] : [`${failing} failing`]),
    lastReadAt === null ? 'never read' : `last read ${lastReadAt}`,
    ...(source.fault === null ? [] : [`could not be read: ${source.fault.reason}`]),
  ];
  return `${id}\t${nameOf(source)}: ${facts.join(', ')}`;
}

const nameOf = ({ kind, address }: TrackedSource) => (kind === 'login' ? 'login' : address);

async function add(
  { db, environment, folder, fetch, clock, signal }: CommandContext,
  config: SourcesConfig,
  { addresses, isEach, exclude }: Extract<SourceCommand, { name: 'sources-add' }>,
  say: Say,
): Promise<number> {
  await checkGit(environment, signal);
  const sizeOnHost = askSizeOnHost(config, { fetch, clock, signal });
  const deps = { environment, signal, folder, resolve: null, sizeOnHost };
  let exitCode = 0;
  for (const address of addresses) {
    const trial = await trySource(deps, address);
    const chosen = choose(trial, isEach);
    if (trial.kind === 'refused') say(`Not added: ${trial.reason}`);
    else say(describeTrial(trial));
    if (trial.kind === 'refused') exitCode = 1;
    for (const source of chosen) {
      const patterns = source.kind === 'folder' && trial.kind === 'folder' ? exclude : [];
      if (!(await save(db, config, source, patterns, say))) exitCode = 1;
    }
  }
  return exitCode;
}

function choose(trial: SourceTrial, isEach: boolean): ConfiguredSource[] {
  if (trial.kind === 'refused') return [];
  if (trial.kind === 'repository' || !isEach) return [trial.source];
  return trial.repositories.map(({ address }) => readSource(address, '/'));
}

function describeTrial(trial: Exclude<SourceTrial, { kind: 'refused' }>): string {
  const { address } = trial.source;
  if (trial.kind === 'folder') {
    const { length } = trial.repositories;
    const names = trial.repositories.slice(0, MAX_NAMED).map(({ name }) => name);
    const more = length > MAX_NAMED ? ` and ${length - MAX_NAMED} more` : '';
    return `${address} holds ${countRepositories(length)}: ${names.join(', ')}${more}`;
  }
  const { name, refs, sizeBytes } = trial;
  const size = sizeBytes === null ? '' : `, about ${formatBytes(sizeBytes)}`;
  const what = refs === 0 ? 'which is empty' : `with ${counted(refs, 'ref')}${size}`;
  return `${address} can be read: ${name}, ${what}`;
}

async function save(
  db: Database,
  { BACKUP_SOURCES: configured }: SourcesConfig,
  source: ConfiguredSource,
  exclude: readonly string[],
  say: Say,
): Promise<boolean> {
  const { address } = source;
  if (configured.some(({ key }) => key === source.key)) {
    say(`Not added: ${address} is set by BACKUP_SOURCES already.`);
    return false;
  }
  const added = await addSource(db, source, { exclude, by: describeUser() });
  if (added === 'taken') say(`Not added: ${address} is a source already.`);
  else if (added === 'full') say(`Not added: there are ${MAX_SOURCES} sources already.`);
  else say(`Added ${address} as source ${added}. The next run backs it up.`);
  return typeof added === 'number';
}

async function pause(
  { db, folder }: CommandContext,
  config: SourcesConfig,
  { name, sources }: Extract<SourceCommand, { name: 'sources-pause' | 'sources-resume' }>,
  say: Say,
): Promise<number> {
  const paused = name === 'sources-pause';
  return forEach(db, config, { sources, folder, say }, async (source) => {
    await changeSource(db, source.id, { paused }, describeUser());
    const called = nameOf(source);
    say(
      paused
        ? `Paused ${called}: runs leave it out. \`npm run worker -- sources resume ${source.id}\` takes it back.`
        : `${called} is backed up again, from the next run on.`,
    );
    return true;
  });
}

async function remove(
  context: CommandContext,
  config: SourcesConfig,
  { sources, nothingKept }: Extract<SourceCommand, { name: 'sources-remove' }>,
  say: Say,
): Promise<number> {
  const { db, folder } = context;
  const archiveFolder = archivePath(config);
  return forEach(db, config, { sources, folder, say }, async (source, all) => {
    if (source.kind === 'login') {
      say('The login is no source that can be removed: pause it, or log out of the git host.');
      return false;
    }
    const names = await listNamedOnlyBy(db, source, all);
    const { changed, exitCode } = await forgetNamed(db, archiveFolder, { names, nothingKept }, say);
    if (changed > 0) await raiseAfterCommand(context, config);
    if (exitCode !== 0) {
      say(`Not removed: ${nameOf(source)}. Add --nothing-kept if you know that.`);
      return false;
    }
    await removeSource(db, source.id);
    say(`Removed ${nameOf(source)}.`);
    return true;
  });
}

/** Does something with each source that exists and that no variable sets. Returns the exit code. */
async function forEach(
  db: Database,
  { BACKUP_SOURCES: configured }: SourcesConfig,
  { sources, folder, say }: { sources: readonly string[]; folder: string; say: Say },
  work: (source: TrackedSource, all: readonly TrackedSource[]) => Promise<boolean>,
): Promise<number> {
  let exitCode = 0;
  for (const given of sources) {
    const all = await listSources(db, configured);
    const source = find(all, given, folder);
    if (source === undefined) say(`There is no source ${given}.`);
    else if (source.setBy !== null) {
      say(`${nameOf(source)} is set by ${source.setBy}: change it there.`);
    } else if (await work(source, all)) continue;
    exitCode = 1;
  }
  return exitCode;
}

/** The source with an id or an address. */
function find(
  all: readonly TrackedSource[],
  given: string,
  folder: string,
): TrackedSource | undefined {
  const byId = all.find(
    ({ id, kind }) => `${id}` === given || (kind === 'login' && given === kind),
  );
  if (byId !== undefined) return byId;
  try {
    const { key } = readSource(given, folder);
    return all.find((source) => source.key === key);
  } catch (error) {
    if (error instanceof AddressError) return undefined;
    throw error;
  }
}
