import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { parseArgs, parseEnv } from 'node:util';
import { systemClock } from '../lib/platform/clock.ts';
import { ConfigError, type Environment } from '../lib/platform/config/read.ts';
import { configuredSecrets } from '../lib/platform/config/secrets.ts';
import { loadEnvironment } from '../lib/platform/environment.ts';
import { AppError } from '../lib/platform/errors.ts';
import { createRedactor, type Redactor } from '../lib/platform/redaction.ts';
import { runCommand } from './command.ts';
import { examine } from './doctor/examine.ts';
import { describeReport } from './doctor/print-report.ts';
import type { Report } from './doctor/report.ts';

const usage = `usage: npm run doctor [-- --hosted] [-- --variables FILE] [-- --json]

Looks at what is configured, asks each part that it names, and tells what works. Nothing is changed, and
no secret is printed. It ends with 1 when a value is bad or a part that is required or configured does
not answer.

  --hosted          as deployed functions see it: without .data/local.env, the embedded database and git
  --variables FILE  the same, with the variables of FILE alone: lines of NAME=value
  --json            the report as JSON
`;

await runCommand(async () => {
  const { hosted, json, help, variables: file } = readOptions();
  if (help) {
    process.stdout.write(usage);
    return 0;
  }
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

function readOptions() {
  try {
    return parseArgs({
      options: {
        hosted: { type: 'boolean', default: false },
        variables: { type: 'string' },
        json: { type: 'boolean', default: false },
        help: { type: 'boolean', short: 'h', default: false },
      },
    }).values;
  } catch (error) {
    throw new AppError('BAD_REQUEST', `${(error as Error).message}\n\n${usage.trimEnd()}`);
  }
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
