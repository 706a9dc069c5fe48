import { readdir } from 'node:fs/promises';
import * as z from 'zod';
import { archivePath, archiveVariables } from '../../config/archives.ts';
import { readConfig } from '../../config/read.ts';
import type { Database } from '../../database/database.ts';
import { isSystemError } from '../../files.ts';
import {
  describeKept,
  forgetRepositories,
  listForgotten,
  listKept,
  lookAtKept,
  rememberRepository,
} from '../../records/repositories/forgotten.ts';
import { cleanText } from '../../text/clean-text.ts';
import { matchesPattern, patternFault } from '../../text/name-pattern.ts';
import { shellQuote } from '../../text/shell-quote.ts';
import { countRepositories } from '../../text/units.ts';
import { findMissingFile } from '../archive/find-missing.ts';
import { commandAlertVariables, raiseAfterCommand } from '../base/command-alerts.ts';
import { contextVariables, type WorkerOptions, withDatabase } from '../base/command-context.ts';
import { describeUser } from './person.ts';
import type { ForgetCommand } from './review-commands.ts';

/** How many repositories are listed. */
const MAX_LISTED = 1_000;
/** More than any installation has. */
const ALL = 1_000_000;

/** Forgets repositories, tracks them again, or lists the forgotten ones. Returns the exit code. */
export function runForget(options: WorkerOptions, command: ForgetCommand): Promise<number> {
  const variables = z.object({
    ...contextVariables,
    ...commandAlertVariables.shape,
    ...archiveVariables.shape,
  });
  const config = readConfig(variables, options.environment);
  const { stdout } = options.io;
  const say = (text: string) => void stdout.write(`${cleanText(text, 4_000)}\n`);
  return withDatabase(options, config, async (context) => {
    const { db } = context;
    if (command.names.length === 0 && !command.isNever) return listAll(db, say);
    const done = command.isUndo
      ? await undo(db, command.names, say)
      : await forgetNamed(db, archivePath(config), command, say);
    if (done.changed > 0) await raiseAfterCommand(context, config);
    return done.exitCode;
  });
}

type Say = (text: string) => void;

async function listAll(db: Database, say: Say): Promise<number> {
  const forgotten = await listForgotten(db, MAX_LISTED);
  for (const { name, at, by } of forgotten) say(`${name}: forgotten ${at} by ${by}`);
  if (forgotten.length === 0) say('Nothing is forgotten.');
  return 0;
}

interface Forgetting extends Pick<ForgetCommand, 'names' | 'nothingKept'> {
  isNever?: boolean;
}

interface Done {
  changed: number;
  exitCode: number;
}

async function undo(db: Database, names: readonly string[], say: Say): Promise<Done> {
  const done = { changed: 0, exitCode: 0 };
  const forgotten = (await listForgotten(db, ALL)).map(({ name }) => name);
  for (const given of names) {
    let isAny = false;
    for (const name of select(forgotten, given)) {
      if (!(await rememberRepository(db, name))) continue;
      isAny = true;
      done.changed++;
      say(`${calledAs(name, given)} is tracked again.`);
    }
    if (isAny) continue;
    done.exitCode = 1;
    say(`${given} is not forgotten.`);
  }
  return done;
}

/** Forgets what matches, and says so. What nothing is kept of stays, unless the user knows. */
export async function forgetNamed(
  db: Database,
  archiveFolder: string,
  { names, isNever = false, nothingKept }: Forgetting,
  say: Say,
): Promise<Done> {
  const done = { changed: 0, exitCode: 0 };
  const tracked = await listKept(db, null);
  const all = tracked.map(({ name }) => name);
  const chosen = new Map<string, string>();
  for (const one of tracked) if (isNever && !one.wasRead) chosen.set(one.name, one.name);
  if (isNever && chosen.size === 0) say('Every tracked repository was backed up at least once.');
  for (const given of names) {
    const matching = select(all, given);
    for (const name of matching) chosen.set(name, calledAs(name, given));
    if (matching.length > 0) continue;
    // One that is forgotten already is forgotten anew, as of now.
    if ((await forgetRepositories(db, [given], describeUser())).length > 0) {
      done.changed++;
      say(`Forgot ${given}, until a run records something about it.`);
      continue;
    }
    done.exitCode = 1;
    say(
      isPattern(given)
        ? `No tracked repository matches ${given}.`
        : `There is no repository ${given}.`,
    );
  }
  const there = await readNames(archiveFolder);
  const unsafe: string[] = [];
  const spellings = new Set([...chosen.keys()].map((name) => name.toLowerCase()));
  const looked = await lookAtKept(
    tracked.filter(({ name }) => spellings.has(name.toLowerCase())),
    async (_name, key) => {
      if (there === null) return null;
      return findMissingFile(archiveFolder, { archiveKey: key, newest: null }, there);
    },
  );
  for (const one of looked) {
    const called = chosen.get(one.name);
    if (called === undefined) continue;
    const kept = describeKept(one);
    if (one.isNothingKept && !nothingKept) {
      unsafe.push(called);
      say(`Not forgotten: ${called}. ${kept}`);
      continue;
    }
    const names = await forgetRepositories(db, [one.name], describeUser());
    if (names.length === 0) continue;
    done.changed++;
    const again = `\`npm run worker -- forget ${shellQuote(called)} --undo\` tracks it again`;
    say(`Forgot ${called}, until a run records something about it. ${kept} ${again}.`);
  }
  if (unsafe.length > 0) {
    done.exitCode = 1;
    const which = unsafe.map((name) => shellQuote(name)).join(' ');
    say(
      `${countRepositories(unsafe.length)} not forgotten, because nothing is kept. If you know that: npm run worker -- forget ${which} --nothing-kept`,
    );
  }
  return done;
}

/** The repository of this name in any letter case. Only if there is none, it is a pattern: a name may contain `*`. */
function select(names: readonly string[], given: string): string[] {
  const exact = names.filter((name) => name.toLowerCase() === given.toLowerCase());
  if (exact.length > 0 || !isPattern(given)) return exact;
  return names.filter((name) => matchesPattern(name, given));
}

function isPattern(text: string): boolean {
  return /[*?[{]/.test(text) && patternFault(text) === null;
}

/** The name as the user wrote it, unless that was a pattern. */
function calledAs(name: string, given: string): string {
  return name.toLowerCase() === given.toLowerCase() ? given : name;
}

/** The names in the archive folder; null if this machine cannot see it. */
async function readNames(folder: string): Promise<ReadonlySet<string> | null> {
  try {
    return new Set(await readdir(folder));
  } catch (error) {
    if (isSystemError(error)) return null;
    throw error;
  }
}
