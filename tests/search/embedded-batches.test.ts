import { setImmediate as nextRound } from 'node:timers/promises';
import { beforeAll, expect, it } from 'vitest';
import type { Database } from '../../lib/database/database.ts';
import { createEmbedded } from '../support/databases.ts';
import { createBatches, startBuiltIn } from '../support/embeddings.ts';
import { useDatabase } from '../support/hooks.ts';
import { sql } from '../support/records.ts';

// The embedded database and the built-in model run in the server's process and block it meanwhile.

const LOGS = 40;
/** Chunks per statement in the embedded database. */
const TOGETHER = 8;

const database = useDatabase(createEmbedded);
let rounds = 0;
const stored: number[] = [];

beforeAll(async () => {
  const { db } = database;
  await sql(
    db,
    `INSERT INTO execution_logs (message) SELECT 'log ' || n FROM generate_series(1, ${LOGS}) n`,
  );
  await startBuiltIn(db);
  const recording: Database = {
    ...db,
    query(statement, values, options) {
      if (statement.name === 'store_embedding_outcomes') {
        const [, , , , jobsOfChunks] = values ?? [];
        stored.push((jobsOfChunks as unknown[]).length);
      }
      return db.query(statement, values, options);
    },
  };
  let isDone = false;
  const counting = (async () => {
    while (!isDone) {
      await nextRound();
      rounds++;
    }
  })();
  await createBatches(recording).process();
  isDone = true;
  await counting;
});

it('an embedding batch stores a few chunks per statement, so that none takes long', () => {
  expect(stored).toEqual(Array(LOGS / TOGETHER).fill(TOGETHER));
});

it('an embedding batch lets requests be served after each statement', () => {
  expect(rounds).toBeGreaterThanOrEqual(stored.length);
});
