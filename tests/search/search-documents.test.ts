import { describe, expect, it } from 'vitest';
import { connect } from '../support/connection.ts';
import { createEmbedded, createPostgres } from '../support/databases.ts';
import { useDatabase } from '../support/hooks.ts';
import { sql } from '../support/records.ts';

// The full-text documents of rows. Indexes store them, so the document of a text must never change.

/** Words around the limit of 2,046 bytes in Postgres, in letters of one, two and four bytes. */
const texts = {
  'a short text': 'clone of owner/repo-name failed: exit status 128',
  'no text': '',
  'a word of 3,000 letters': `before ${'x'.repeat(3_000)} after`,
  'a word of 2,046 letters': `before ${'y'.repeat(2_046)} after`,
  'a word of 2,047 letters': `before ${'y'.repeat(2_047)} after`,
  'a word of 1,100 letters of two bytes': `before ${'é'.repeat(1_100)} after`,
  'a word of 700 letters of four bytes': `before ${'𐐀'.repeat(700)} after`,
  'a name of many parts': `before ${'part/'.repeat(900)} after`,
  'many words': Array.from({ length: 9_000 }, (_, n) => `w${n}`).join(' '),
};

describe.each([
  ['the embedded database', createEmbedded],
  ['Postgres', createPostgres],
])('documents in %s', (_name, create) => {
  const database = useDatabase(create);

  it.each(Object.entries(texts))('do not change: %s', async (_what, text) => {
    const [row] = await sql<{ is_same: boolean; words: number }>(
      database.db,
      `SELECT search_document(4711, $1) = (
          to_tsvector('simple', search_names($1) || ' zfinez2 zcoarsez0')
          || to_tsvector('english', search_parts(search_names($1)))
        ) AS is_same, length(search_document(4711, $1)) AS words`,
      [text],
    );
    expect(row?.is_same).toBe(true);
    expect(row?.words).toBeGreaterThanOrEqual(2);
  });

  it('cause no notices about overlong words', async () => {
    const client = await connect(database.url);
    const notices: (string | undefined)[] = [];
    client.on('notice', ({ message }) => notices.push(message));
    try {
      for (const text of Object.values(texts)) {
        await client.query('INSERT INTO execution_logs (message) VALUES ($1)', [text]);
      }
    } finally {
      await client.end();
    }
    expect(notices).toEqual([]);
  });
});
