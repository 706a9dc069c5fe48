import { type ParseArgsOptionsConfig, parseArgs } from 'node:util';
import { cleanText } from '../platform/clean-text.ts';
import { AppError } from '../platform/errors.ts';
import { archiveKey } from './archive.ts';
import { nearestWord } from './nearest.ts';
import { parseSource, type Source } from './source.ts';
import { runUsage, workerUsage } from './usage.ts';

/** What a command line of the worker asks for. */
export type WorkerCommand =
  | { name: 'help'; text: string }
  | { name: 'run'; sources: Source[]; everyMs: number | null };

const commands = ['run'];
const runOptions = {
  source: { type: 'string', multiple: true },
  once: { type: 'boolean' },
  every: { type: 'string' },
  help: { type: 'boolean', short: 'h' },
} as const satisfies ParseArgsOptionsConfig;

const LONGEST_PAUSE_MINUTES = 7 * 24 * 60;

/**
 * Reads the worker's arguments; `folder` is what relative paths are relative to. Throws BAD_REQUEST with
 * one line that names the wrong word and the nearest right one (decisions 7).
 */
export function parseCommand(args: readonly string[], folder: string): WorkerCommand {
  const [first, ...rest] = args;
  if (first === '--help' || first === '-h' || first === 'help') {
    return { name: 'help', text: workerUsage };
  }
  if (first === 'run') return parseRun(rest, folder);
  if (first === undefined) throw wrongUsage(`no command is given.\n\n${workerUsage}`);
  if (first.startsWith('-')) {
    throw wrongUsage(`unknown option ${first}${suggestion(first, ['--help'])}`);
  }
  throw wrongUsage(`unknown command ${first}${suggestion(first, commands)}`);
}

function parseRun(args: string[], folder: string): WorkerCommand {
  const { values, tokens } = parseArgs({
    args,
    options: runOptions,
    strict: false,
    allowPositionals: true,
    tokens: true,
  });
  for (const token of tokens) {
    if (token.kind === 'positional') {
      throw wrongUsage(
        `unexpected argument ${withoutUserInfo(token.value)}; a repository is given with --source`,
      );
    }
    if (token.kind === 'option') checkOption(token);
  }
  if (values.help) return { name: 'help', text: runUsage };
  if (values.once && values.every !== undefined) {
    throw wrongUsage('--once and --every exclude each other');
  }
  const given = (values.source ?? []).filter((source) => typeof source === 'string');
  if (given.length === 0) {
    throw wrongUsage(
      'no repository is given: discovery is not configured, so name each with --source PATH|URL',
    );
  }
  const sources = given.map((source) => parseSource(source, folder));
  checkNames(sources);
  return {
    name: 'run',
    sources,
    everyMs: typeof values.every === 'string' ? parseMinutes(values.every) : null,
  };
}

function checkOption({
  name,
  rawName,
  value,
  inlineValue,
}: {
  name: string;
  rawName: string;
  value?: string | undefined;
  inlineValue?: boolean | undefined;
}) {
  if (!Object.hasOwn(runOptions, name)) {
    const words = Object.keys(runOptions).map((option) => `--${option}`);
    throw wrongUsage(`unknown option ${withoutUserInfo(rawName)}${suggestion(rawName, words)}`);
  }
  const takesValue = runOptions[name as keyof typeof runOptions].type === 'string';
  if (takesValue && !value) throw wrongUsage(`${rawName} needs a value`);
  if (takesValue && !inlineValue && value?.startsWith('-')) {
    throw wrongUsage(`${rawName} needs a value; one that begins with - is given as ${rawName}=…`);
  }
  if (!takesValue && value !== undefined) throw wrongUsage(`${rawName} takes no value`);
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

function suggestion(typed: string, words: readonly string[]): string {
  const nearest = nearestWord(typed, words);
  return nearest === null ? '' : `; did you mean ${nearest}?`;
}

function withoutUserInfo(text: string): string {
  // Only from where a part begins: from each character on, it would take quadratic time.
  return text.replace(/(?<![^/\s])[^/\s]*@/g, '…@');
}

function wrongUsage(message: string): AppError {
  return new AppError('BAD_REQUEST', message);
}
