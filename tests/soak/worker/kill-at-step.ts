import promises from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';

// Loaded into a worker before anything else (`node --import`). Kills it just before its KILL_AT-th change to a file in
// KILL_FOLDER, counted from 0; otherwise reports at the end how many changes there were.

const folder = process.env.KILL_FOLDER ?? '';
const at = Number(process.env.KILL_AT);
let steps = 0;

for (const name of ['mkdir', 'rename', 'rm', 'writeFile'] as const) {
  const change = promises[name] as (...args: unknown[]) => Promise<unknown>;
  const counted = (...args: unknown[]) => {
    if (String(args[0]).startsWith(folder) && steps++ === at) process.kill(process.pid, 'SIGKILL');
    return change(...args);
  };
  Object.assign(promises, { [name]: counted });
}
syncBuiltinESMExports();
process.on('exit', () => process.stderr.write(`steps ${steps}\n`));
