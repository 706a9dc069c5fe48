import { runCommand } from './command.ts';
import { audit } from './supply/audit.ts';
import { checkInstallScripts } from './supply/install-scripts.ts';
import { checkLicences } from './supply/licences.ts';
import { readAllowScripts, readLock } from './supply/lock.ts';

// `npm run check:supply`: what others wrote and we ship. Apart from `npm run check`, because it asks the
// advisory service.

await runCommand(async () => {
  const folder = process.cwd();
  const packages = readLock(folder);
  const checks = {
    'install scripts': checkInstallScripts(packages, readAllowScripts(folder)),
    licences: checkLicences(packages),
    advisories: await audit(folder, process.env),
  };
  for (const [name, faults] of Object.entries(checks)) {
    process.stdout.write(`${name}: ${faults.length === 0 ? 'ok' : ''}\n`);
    for (const fault of faults) process.stdout.write(`  ${fault}\n`);
  }
  return Object.values(checks).flat().length === 0 ? 0 : 1;
});
