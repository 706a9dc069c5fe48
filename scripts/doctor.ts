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
import { describeReport } from './doctor/print-report.ts';
import type { Report } from './doctor/report.ts';

const program = new Command('npm run doctor --')
  .description(
    `Looks at the configuration, asks each part that it names, and tells what works. Nothing is changed, and
no secret is printed. Exit code 1: a value is bad, or a part that is required or configured does not
answer.`,
  )
  .option(
    '--hosted',
    'as deployed functions see it: without .data/local.env, the embedded database and git',
    false,
  )
  .option('--variables <file>', 'the same, with the variables of a file alone: lines of NAME=value')
  .option('--json', 'the report as JSON', false)
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
    json ? `${JSON.stringify(report, null, 2)}\n` : describeReport(report, { about, hasColor }),
  );
  return report.ok ? 0 : 1;
});

/** The rest is words of ours, which a password may be one of: masked, they would tell it. */
function redactReport(report: Report, { text }: Redactor): Report {
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

/** What a deployment would have: a file of variables, or those of the process and `.env`. */
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
