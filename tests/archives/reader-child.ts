import { createArchiveReader } from '../../lib/archives/archives.ts';
import { systemClock } from '../../lib/platform/clock.ts';
import { redact } from '../../lib/platform/redaction.ts';

const [root = '', scratchFolder = ''] = process.argv.slice(2);
process.on('SIGTERM', () => process.exit(143));
const reader = createArchiveReader({
  root,
  scratchFolder,
  environment: { PATH: process.env.PATH },
  clock: systemClock,
  findRecord: async () => null,
  redact,
});
await reader.verify('team/app', new AbortController().signal);
