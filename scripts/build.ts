import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { AppError } from '../lib/platform/errors.ts';
import { surfaces } from '../lib/platform/surfaces.ts';
import { bundleFunction } from './build/bundle.ts';
import { writeBuildOutput } from './build/output.ts';
import { bundleReport, compareWeight, findBanned, weigh } from './build/report.ts';
import { runCommand } from './command.ts';

// Bundles the deployed functions and writes what `vercel deploy --prebuilt` uploads: `npm run build`.

const usage = `npm run build -- [--out FOLDER | --check | --report]

  --out FOLDER   write there, in place of .vercel/output
  --check        write nothing; hold the bundles against the report in the repository
  --report       write that report
`;
const REPORT = 'scripts/build/bundles.json';

await runCommand(async () => {
  const values = readOptions();
  if (values.help) {
    process.stdout.write(usage);
    return 0;
  }
  const built = await Promise.all(
    surfaces.map(async (surface) => {
      const bundle = await bundleFunction(surface.entry);
      return { surface, bundle, weight: weigh(bundle) };
    }),
  );
  const banned = built.flatMap(({ surface, bundle }) => findBanned(surface.name, bundle));
  for (const complaint of banned) process.stderr.write(`${complaint}\n`);
  if (banned.length > 0) return 1;
  if (values.report) {
    const report = Object.fromEntries(built.map(({ surface, weight }) => [surface.name, weight]));
    writeFileSync(REPORT, `${JSON.stringify(report, null, 2)}\n`);
  } else if (values.check) {
    const reported = bundleReport.parse(
      existsSync(REPORT) ? JSON.parse(readFileSync(REPORT, 'utf8')) : {},
    );
    const complaints = built.flatMap(({ surface: { name }, weight }) =>
      compareWeight(name, weight, reported[name]),
    );
    for (const complaint of complaints) process.stderr.write(`${complaint}\n`);
    if (complaints.length === 0) return 0;
    process.stderr.write('If that is meant: npm run build -- --report\n');
    return 1;
  } else {
    await writeBuildOutput(values.out, built);
    for (const { surface, weight } of built) {
      const kilobytes = (bytes: number) => `${Math.round(bytes / 1_000)} kB`;
      process.stdout.write(
        `${surface.entry}: ${kilobytes(weight.bytes)}, ${kilobytes(weight.gzipBytes)} with gzip\n`,
      );
    }
    process.stdout.write(`written to ${values.out}\n`);
  }
  return 0;
});

function readOptions() {
  try {
    return parseArgs({
      options: {
        out: { type: 'string', default: '.vercel/output' },
        check: { type: 'boolean', default: false },
        report: { type: 'boolean', default: false },
        help: { type: 'boolean', short: 'h', default: false },
      },
    }).values;
  } catch (error) {
    throw new AppError('BAD_REQUEST', `${(error as Error).message}\n\n${usage.trimEnd()}`);
  }
}
