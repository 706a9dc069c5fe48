import { type ParseArgsOptionsConfig, parseArgs } from 'node:util';
import { AppError } from '../platform/errors.ts';
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
  return {
    name: 'run',
    sources: given.map((source) => parseSource(source, folder)),
    everyMs: typeof values.every === 'string' ? parseMinutes(values.every) : null,
  };
}

function checkOption({
  name,
  rawName,
  value,
}: {
  name: string;
  rawName: string;
  value?: string | undefined;
}) {
  if (!(name in runOptions)) {
    const words = Object.keys(runOptions).map((option) => `--${option}`);
    throw wrongUsage(`unknown option ${withoutUserInfo(rawName)}${suggestion(rawName, words)}`);
  }
  const takesValue = runOptions[name as keyof typeof runOptions].type === 'string';
  if (takesValue && !value) throw wrongUsage(`${rawName} needs a value`);
  if (!takesValue && value !== undefined) throw wrongUsage(`${rawName} takes no value`);
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
  return text.replace(/[^/\s]*@/g, '…@');
}

function wrongUsage(message: string): AppError {
  return new AppError('BAD_REQUEST', message);
}
