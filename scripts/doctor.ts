import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { parseEnv } from 'node:util';
import { Command } from 'commander';
import { systemClock } from '../lib/clock.ts';
import { loadEnvironment } from '../lib/config/environment.ts';
import { ConfigError, type Environment } from '../lib/config/read.ts';
import { configuredSecrets } from '../lib/config/secrets.ts';
import { createRedactor, type Redactor } from '../lib/security/redaction/redactor.ts';
import { runProgram } from './command.ts';
import { examine } from './doctor/examine.ts';
import { printReport } from './doctor/print-report.ts';
import type { DoctorReport } from './doctor/report.ts';

const program = new Command('npm run doctor --')
  .description(
    'Checks the configuration, every service it uses and the state of the backups, and reports what works. Changes nothing and prints no secrets. Exit code 1: a value is invalid, a required or configured service does not respond, or the backups need attention, for example because of a critical incident.',
  )
  .option(
    '--hosted',
    'check as for a deployment: without .data/local.env, the embedded database and git',
    false,
  )
  .option(
    '--variables <file>',
    'like --hosted, but only with the variables of a file (lines of NAME=value)',
  )
  .option('--json', 'print the report as JSON', false)
  .showHelpAfterError();

await runProgram(program, async () => {
  const {
    hosted,
    json,
    variables: file,
  } = program.opts<{
    hosted: boolean;
    json: boolean;
    variables?: string;
  }>();
  const isHosted = hosted || file !== undefined;
  const { environment, makesSecrets } = isHosted ? readHosted(file) : readLocal();
  const report = redactReport(
    await examine({ environment, isHosted, makesSecrets, fetch, clock: systemClock }),
    createRedactor(configuredSecrets(environment)),
  );
  const about = isHosted ? `as deployed with ${file ?? 'these variables'}` : 'as configured here';
  const hasColor = process.stdout.isTTY === true && !process.env.NO_COLOR;
  process.stdout.write(
    json ? `${JSON.stringify(report, null, 2)}\n` : printReport(report, { about, hasColor }),
  );
  return report.ok ? 0 : 1;
});

/** Only these fields: the others are fixed words, and masking one would reveal a password that equals it. */
function redactReport(report: DoctorReport, { text }: Redactor): DoctorReport {
  const checks = report.checks.map((check) => ({
    ...check,
    detail: text(check.detail),
    next: check.next === null ? null : text(check.next),
  }));
  return { ...report, checks };
}

function readLocal(): { environment: Environment; makesSecrets: boolean } {
  const { environment, hasEnvFile } = loadEnvironment(process.env, process.cwd());
  return { environment, makesSecrets: !hasEnvFile };
}

/** The variables of a deployment: those of a file, or of the process and `.env`. */
function readHosted(file: string | undefined): { environment: Environment; makesSecrets: boolean } {
  const path = resolve(file ?? '.env');
  if (file === undefined && !existsSync(path)) {
    return { environment: process.env, makesSecrets: false };
  }
  let read: Environment;
  try {
    read = parseEnv(readFileSync(path, 'utf8'));
  } catch (cause) {
    throw new ConfigError(`cannot read ${path}: ${(cause as Error).message}`, { cause });
  }
  // An empty value counts as unset.
  const own = Object.entries(process.env).filter(([, value]) => value);
  const environment = file === undefined ? { ...read, ...Object.fromEntries(own) } : read;
  return { environment, makesSecrets: false };
}
