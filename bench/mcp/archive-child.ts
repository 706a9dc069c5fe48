import { createArchiveReader } from '../../lib/archives/archives.ts';
import { systemClock } from '../../lib/clock.ts';
import { createRedactor } from '../../lib/security/redaction/redactor.ts';

// Reads one archive as the server does, and prints how long that took and what memory the process had.
const [root = '', scratchFolder = '', what = '', repository = ''] = process.argv.slice(2);
const reader = createArchiveReader({
  root,
  scratchFolder,
  environment: process.env,
  clock: systemClock,
  findRecord: async () => null,
  redactor: createRedactor([]),
});
const { signal } = new AbortController();
const start = performance.now();
if (what === 'verify') await reader.verify(repository, { signal });
// A prefix that nothing has, so that no entry ends the reading early.
else await reader.inspect(repository, { prefix: 'nothing-has-this', limit: 50 }, { signal });
const ms = performance.now() - start;
process.stdout.write(JSON.stringify({ ms, maxRssKiB: process.resourceUsage().maxRSS }));
