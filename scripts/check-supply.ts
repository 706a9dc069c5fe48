import { Command } from 'commander';
import { runProgram } from './command.ts';
import { audit, checkInstallScripts, checkLicences, readAllowScripts, readLock } from './supply.ts';

// Not part of `npm run check`, because it asks the advisory service.

const program = new Command('npm run check:supply').description(
  'Checks the packages that ship: install scripts, licences and known advisories.',
);

await runProgram(program, async () => {
  const folder = process.cwd();
  const checks = {
    'install scripts': checkInstallScripts(readLock(folder), readAllowScripts(folder)),
    licences: await checkLicences(folder),
    advisories: await audit(folder, process.env),
  };
  for (const [name, faults] of Object.entries(checks)) {
    process.stdout.write(`${name}: ${faults.length === 0 ? 'ok' : ''}\n`);
    for (const fault of faults) process.stdout.write(`  ${fault}\n`);
  }
  return Object.values(checks).flat().length === 0 ? 0 : 1;
});
