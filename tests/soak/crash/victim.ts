import { systemClock } from '../../../lib/clock.ts';
import { migrate } from '../../../lib/database/migrate.ts';
import { openDatabase } from '../../../lib/database/open.ts';
import { createLog } from '../../../lib/log/log.ts';
import { hashingEmbedder } from '../../../lib/search/embedders/embedder.ts';
import { activateGeneration } from '../../../lib/search/generations.ts';
import { processBatches } from '../../../lib/search/process-batch.ts';
import { createRedactor } from '../../../lib/security/redaction/redactor.ts';
import { openCredentialsFile } from '../../../lib/worker/logins/credentials-file.ts';

// Does one kind of work, and reports its start and its progress: `victim.ts WORK WHERE …`.

const [work = '', where = '', ...rest] = process.argv.slice(2);
const say = (line: string) => process.stdout.write(`${line}\n`);
// The stand-in for pgvector's type has no index, which would be logged each time.
const log = createLog('error', systemClock, () => undefined);
const open = () => openDatabase({ url: where, fetch, log, maxConnections: 2 });

const works: Record<string, () => Promise<void>> = {
  async migrate() {
    const db = await open();
    say('begins');
    await migrate(db, 'drizzle');
    await db.close();
  },
  async batch() {
    const db = await open();
    const deps = { db, log, clock: systemClock, redactor: createRedactor([]) };
    const request = { batchSize: 10, maxBatches: 50, budgetMs: 60_000 };
    say('begins');
    await processBatches(
      { ...deps, openEmbedder: async () => hashingEmbedder },
      { ...request, generationId: Number(rest[0]) },
    );
    await db.close();
  },
  async activate() {
    const db = await open();
    say('begins');
    for (const id of rest) {
      await activateGeneration(db, Number(id));
      say(`done ${id}`);
    }
    await db.close();
  },
  async credentials() {
    const file = openCredentialsFile(where, () => undefined);
    say('begins');
    for (let count = 0; count < 8; count += 1) {
      const name = `github:${rest[0]}-${count}`;
      await file.locked(async (held) => held.write({ ...(await held.read()), [name]: login }));
      say(`done ${name}`);
    }
  },
};

const login = {
  kind: 'token' as const,
  account: 'ada',
  host: 'https://github.com',
  client_id: null,
  expires_at: null,
  refresh_expires_at: null,
  store: 'file' as const,
  token: 'ghp_0123456789abcdefghijABCDEFGHIJ456789',
  refresh_token: null,
};

await works[work]?.();
