import { existsSync, readFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import type { Reporter, TestModule } from 'vitest/node';

const root = join(import.meta.dirname, '../..');
/** For the tests of the build; installed apart, because it is large. */
const vercelCli = 'tests/build/vercel-cli';

/** A program that some tests need. */
export interface OptionalProgram {
  /** Any one of them will do. */
  names: string[];
  debianPackage: string;
  purpose: string;
}

/** The programs that `.ci/programs` lists. */
export function readOptionalPrograms(): OptionalProgram[] {
  return readFileSync(join(root, '.ci/programs'), 'utf8')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => {
      const [names = '', debianPackage = '', ...purpose] = line.split(' ');
      return { names: names.split('|'), debianPackage, purpose: purpose.join(' ') };
    });
}

/** What a run has to say about its skipped tests: how many, what they lack, and how to install it. */
export function describeSkipped(skipped: readonly string[], path: string): string[] {
  if (skipped.length === 0) return [];
  const has = (name: string) => path.split(delimiter).some((it) => existsSync(join(it, name)));
  const missing = readOptionalPrograms().filter(({ names }) => !names.some(has));
  const hasCli = existsSync(join(root, vercelCli, 'node_modules/.bin/vercel'));
  const what = [
    ...missing.map(({ names, purpose }) => `${names[0]} (${purpose})`),
    ...(hasCli ? [] : ['the Vercel CLI (the build)']),
  ];
  const count = skipped.length === 1 ? '1 test was' : `${skipped.length} tests were`;
  if (what.length === 0) {
    return [
      `${count} skipped, which this machine or user cannot run:`,
      ...skipped.map((it) => `  ${it}`),
    ];
  }
  const packages = [...new Set(missing.map(({ debianPackage }) => debianPackage))].join(' ');
  const commands = [
    ...(packages === '' ? [] : [`sudo apt-get install -y ${packages}`]),
    ...(hasCli ? [] : [`npm ci --prefix ${vercelCli} --ignore-scripts`]),
  ];
  return [
    `${count} skipped, because this machine lacks ${what.join(', ')}.`,
    'On Debian and Ubuntu, this installs it:',
    `  ${commands.join(' && ')}`,
  ];
}

/** Says at the end of a run which tests were skipped, why, and what installs the rest. */
export class SkippedReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    // With `-t`, all tests of other names count as skipped.
    if (modules.some(({ project }) => project.globalConfig.testNamePattern !== undefined)) return;
    const skipped = modules.flatMap((module) =>
      [...module.children.allTests('skipped')].map(({ fullName }) => fullName),
    );
    const lines = describeSkipped(skipped, process.env.PATH ?? '');
    if (lines.length > 0) process.stdout.write(`${lines.join('\n')}\n\n`);
  }
}
