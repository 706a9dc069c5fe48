import type { Command } from 'commander';
import { parseCommandLine } from '../lib/command-line.ts';
import { environmentOutside } from '../lib/config/environment.ts';
import { ConfigError, type Environment } from '../lib/config/read.ts';
import { configuredSecrets } from '../lib/config/secrets.ts';
import { AppError, errorCodes } from '../lib/errors.ts';
import { isSystemError } from '../lib/files.ts';
import { stallMsOf } from '../lib/git/git.ts';
import { doesAnswer } from '../lib/processes/file-calls.ts';
import { createRedactor } from '../lib/security/redaction/redactor.ts';
import { formatDuration } from '../lib/text/units.ts';
import { loadEnvironment } from './environment.ts';
import { prepareOutgoing } from './outgoing.ts';

/**
 * Runs a command and sets the exit code. Errors that the user can fix are printed as one line on stderr;
 * others are bugs and printed with their stack.
 */
export async function runCommand(command: () => Promise<number>): Promise<void> {
  try {
    await requireDataDir();
    await prepareOutgoing(readEnvironment());
    process.exitCode = await command();
  } catch (error) {
    process.exitCode = error instanceof AppError ? errorCodes[error.code].exitCode : 1;
    const environment = error instanceof DataDirHangs ? process.env : readEnvironment();
    const redactor = createRedactor(configuredSecrets(environment));
    process.stderr.write(`${redactor.text(describe(error))}\n`);
  }
}

/** DATA_DIR is in a file system that hangs. */
class DataDirHangs extends AppError {}

/** Every command reads secrets in DATA_DIR, and such a call could neither be stopped nor outlasted where that hangs. */
async function requireDataDir(): Promise<void> {
  let folder: string;
  let limitMs: number;
  try {
    const environment = environmentOutside(process.env, process.cwd());
    folder = `${environment.DATA_DIR}`;
    limitMs = stallMsOf(environment);
  } catch (error) {
    // The command says what is wrong with its configuration.
    if (error instanceof ConfigError) return;
    throw error;
  }
  if (await doesAnswer(folder, limitMs)) return;
  throw new DataDirHangs(
    'SERVICE_UNAVAILABLE',
    `the folder ${folder} (DATA_DIR) has not answered for ${formatDuration(limitMs)}: is the disk or network drive connected?`,
  );
}

/** Parses the options and runs a command, or prints its help. */
export function runProgram(program: Command, run: () => Promise<number>): Promise<void> {
  return runCommand(async () => {
    const help = parseCommandLine(program, process.argv.slice(2));
    if (help === null) return run();
    process.stdout.write(`${help}\n`);
    return 0;
  });
}

/** The environment of the command; only the process's own if a file cannot be read. */
function readEnvironment(): Environment {
  try {
    return loadEnvironment();
  } catch (error) {
    if (error instanceof ConfigError) return process.env;
    throw error;
  }
}

/** SQLSTATEs of a missing table and a missing column. */
const MISSING_SCHEMA = ['42P01', '42703'];

function describe(error: unknown): string {
  if (error instanceof ConfigError) return error.message;
  if (MISSING_SCHEMA.includes(String((error as { code?: unknown } | null)?.code))) {
    return 'the database has no tables yet: run `npm run migrate`';
  }
  if (!(error instanceof AppError)) return error instanceof Error ? `${error.stack}` : `${error}`;
  const { cause } = error;
  if (!(cause instanceof Error)) return error.message;
  const reason = cause.message || cause.name;
  const { code } = cause as NodeJS.ErrnoException;
  const isSaid =
    error.message.includes(reason) ||
    (isSystemError(cause) && code !== undefined && error.message.includes(code));
  return isSaid ? error.message : `${error.message}: ${reason}`;
}
