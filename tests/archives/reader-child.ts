import { createArchiveReader } from '../../lib/archives/archives.ts';
import { systemClock } from '../../lib/clock.ts';
import { createRedactor } from '../../lib/security/redaction/redactor.ts';

const [root = '', scratchFolder = '', where] = process.argv.slice(2);
process.on('SIGTERM', () => process.exit(143));
const reader = createArchiveReader({
  root,
  scratchFolder,
  environment: { PATH: process.env.PATH },
  clock: systemClock,
  findRecord: async () => null,
  redactor: createRedactor([]),
  inOwnProcess: where !== undefined,
});
await reader.verify('team/app', new AbortController());
