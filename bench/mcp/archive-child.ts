import { createArchiveReader } from '../../lib/archives/archives.ts';
import { systemClock } from '../../lib/clock.ts';
import { createRedactor } from '../../lib/security/redaction/redactor.ts';

// Reads one archive like the server does, and prints how long that took and how much memory the process used.
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
// A prefix without any match, so that the whole archive is read.
else await reader.inspect(repository, { prefix: 'nothing-has-this', limit: 50 }, { signal });
const ms = performance.now() - start;
process.stdout.write(JSON.stringify({ ms, maxRssKiB: process.resourceUsage().maxRSS }));
