import { cleanText } from '../platform/clean-text.ts';
import { archiveKey } from './archive.ts';
import { helpOption, readOptions, withoutUserInfo, wrongUsage } from './options.ts';
import { parseSource, type Source } from './source.ts';
import { type Help, runUsage } from './usage.ts';

export interface RunCommand {
  name: 'run';
  /** Null: those that discovery finds on the git host. */
  sources: Source[] | null;
  /** Milliseconds from one start to the next; null for one run. */
  everyMs: number | null;
}

const runOptions = {
  source: { type: 'string', multiple: true },
  once: { type: 'boolean' },
  every: { type: 'string' },
  ...helpOption,
} as const;

const LONGEST_PAUSE_MINUTES = 7 * 24 * 60;

/** Reads the arguments of `run`; relative paths are relative to `folder`. Throws BAD_REQUEST. */
export function parseRun(args: readonly string[], folder: string): RunCommand | Help {
  const line = readOptions(args, runOptions);
  const [extra] = line.positionals;
  if (extra !== undefined) {
    throw wrongUsage(
      `unexpected argument ${withoutUserInfo(extra)}; a repository is given with --source`,
    );
  }
  if (line.flag('help')) return { name: 'help', text: runUsage };
  const every = line.text('every');
  if (line.flag('once') && every !== null) {
    throw wrongUsage('--once and --every exclude each other');
  }
  const given = line.texts('source');
  const sources = given.length === 0 ? null : given.map((text) => parseSource(text, folder));
  checkNames(sources ?? []);
  return { name: 'run', sources, everyMs: every === null ? null : parseMinutes(every) };
}

/** One name is one archive and one repository in the records (decisions 7, Archives). */
function checkNames(sources: readonly Source[]): void {
  const names = new Map<string, string>();
  for (const { name } of sources) {
    const key = archiveKey(name);
    const namesake = names.get(key);
    names.set(key, name);
    if (namesake === undefined) continue;
    const called = namesake === name ? name : `${namesake} and ${name}`;
    throw wrongUsage(
      cleanText(`two sources are called ${called}, which would be one archive; give one of them`),
    );
  }
}

function parseMinutes(text: string): number {
  const minutes = /^\d+(\.\d+)?$/.test(text) ? Number(text) : Number.NaN;
  if (minutes > 0 && minutes <= LONGEST_PAUSE_MINUTES) return minutes * 60_000;
  throw wrongUsage(`--every takes a number of minutes above 0, at most ${LONGEST_PAUSE_MINUTES}`);
}
