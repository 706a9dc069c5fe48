import { randomInt } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { execa } from 'execa';

// `npm run soak -- [part]... [--long] [--seed N] [--report FILE]`: repeats what the tests prove once, until it breaks.
// Short by default, as in the check run.

const folder = import.meta.dirname;
const parts = readdirSync(folder, { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name);
const usage = `npm run soak -- [${parts.join('|')}]... [--long] [--seed N] [--report FILE]`;

process.exitCode = await run();

async function run(): Promise<number> {
  const { values, positionals } = readArguments();
  const unknown = positionals.find((part) => !parts.includes(part));
  if (unknown !== undefined) return refuse(`there is no part ${unknown}`);
  const seed = Number(values.seed ?? randomInt(2 ** 31));
  if (!Number.isSafeInteger(seed)) return refuse('--seed takes an integer');

  process.stdout.write(`soak: ${values.long ? 'long' : 'short'}, --seed ${seed}\n`);
  const reporters = values.report
    ? ['--reporter=default', '--reporter=json', `--outputFile.json=${values.report}`]
    : [];
  const { exitCode } = await execa(
    'vitest',
    [
      'run',
      '--config',
      `${folder}/vitest.config.ts`,
      ...reporters,
      ...positionals.map((part) => `tests/soak/${part}/`),
    ],
    {
      env: { SOAK_SIZE: values.long ? 'long' : 'short', SOAK_SEED: String(seed) },
      stdio: 'inherit',
      reject: false,
      preferLocal: true,
    },
  );
  return exitCode ?? 1;
}

function readArguments() {
  try {
    return parseArgs({
      allowPositionals: true,
      options: {
        long: { type: 'boolean', default: false },
        seed: { type: 'string' },
        report: { type: 'string' },
      },
    });
  } catch (error) {
    process.exit(refuse(error instanceof Error ? error.message : String(error)));
  }
}

function refuse(reason: string): number {
  process.stderr.write(`${reason}\n${usage}\n`);
  return 2;
}
