import type { Command } from 'commander';
import { parseCommandLine } from '../lib/command-line.ts';
import { ConfigError, type Environment } from '../lib/config/read.ts';
import { configuredSecrets } from '../lib/config/secrets.ts';
import { AppError, errorCodes } from '../lib/errors.ts';
import { isSystemError } from '../lib/files.ts';
import { createRedactor } from '../lib/security/redaction/redactor.ts';
import { loadEnvironment } from './environment.ts';
import { prepareOutgoing } from './outgoing.ts';

/**
 * Runs a command and sets the exit code. Errors that the user can fix are printed as one line on stderr;
 * others are bugs and printed with their stack.
 */
export async function runCommand(command: () => Promise<number>): Promise<void> {
  try {
    await prepareOutgoing(readEnvironment());
    process.exitCode = await command();
  } catch (error) {
    process.exitCode = error instanceof AppError ? errorCodes[error.code].exitCode : 1;
    const redactor = createRedactor(configuredSecrets(readEnvironment()));
    process.stderr.write(`${redactor.text(describe(error))}\n`);
  }
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
