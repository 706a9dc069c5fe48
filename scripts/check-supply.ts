import { Command } from 'commander';
import { runProgram } from './command.ts';
import { audit, checkInstallScripts, checkLicences, readAllowScripts, readLock } from './supply.ts';

// Not part of `npm run check`, because it needs network access.

const program = new Command('npm run check:supply').description(
  'Checks dependencies: install scripts, and licences and known vulnerabilities of production ones.',
);

await runProgram(program, async () => {
  const folder = process.cwd();
  const checks = {
    'install scripts': checkInstallScripts(readLock(folder), readAllowScripts(folder)),
    licences: await checkLicences(folder),
    advisories: await audit(folder, process.env),
  };
  for (const [name, problems] of Object.entries(checks)) {
    process.stdout.write(`${name}: ${problems.length === 0 ? 'ok' : ''}\n`);
    for (const problem of problems) process.stdout.write(`  ${problem}\n`);
  }
  return Object.values(checks).flat().length === 0 ? 0 : 1;
});
