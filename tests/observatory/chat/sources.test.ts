import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { askStream, scriptChat } from '../../support/chat.ts';
import { setUpChat } from '../../support/chat-world.ts';
import { insertLog, sql } from '../../support/records.ts';

const chat = setUpChat();
const session_id = randomUUID();

describe('the records found for a question', () => {
  it('are returned later with the answer, without secrets and without malformed entries', async () => {
    await insertLog(chat.database.db, { message: 'zeppelin push refused', repository: 'acme/api' });
    scriptChat(chat.gateway, { text: ['It was refused.'] });
    const { ended } = await askStream(chat.server, { question: 'zeppelin', session_id });
    const [info] = await ended;
    const listed = async () => {
      const answer = await chat.server.get(`/sessions/${session_id}/messages`);
      const { data } = (await answer.json()) as { data: { sources: unknown }[] };
      return data.map(({ sources }) => sources);
    };
    const sources = info?.type === 'info' ? info.sources : [];
    expect(sources).toHaveLength(1);
    expect(await listed()).toEqual([[], sources]);
    const token = `ghp_${'a1B2'.repeat(9)}`;
    await sql(
      chat.database.db,
      `UPDATE chat_messages SET sources = jsonb_set(sources, '{0,snippet}', '"push with ${token}"')
       WHERE role = 'assistant'`,
    );
    const later = JSON.stringify(await listed());
    expect(later).toContain('push with');
    expect(later).not.toContain(token);
    await sql(
      chat.database.db,
      `UPDATE chat_messages SET sources = CASE role WHEN 'user' THEN '{"title": 7}'::jsonb
         ELSE sources || '[{"title": "of another program"}, null]' END`,
    );
    expect(await listed()).toEqual([
      [],
      [expect.objectContaining({ source_type: 'execution_log' })],
    ]);
  });

  it('have their names cut to a limited length', async () => {
    await insertLog(chat.database.db, { message: 'zeppelin', repository: 'n'.repeat(100_000) });
    scriptChat(chat.gateway, { text: ['Yes.'] });
    const { ended } = await askStream(chat.server, { question: 'zeppelin', session_id });
    const [info] = await ended;
    expect(JSON.stringify(info).length).toBeLessThan(2_000);
    expect(JSON.stringify(info)).toMatch(/nnn… \[cut: 99\d{3} more characters\]/);
  });

  it('are also stored with an answer that failed', async () => {
    await insertLog(chat.database.db, { message: 'zeppelin push refused' });
    scriptChat(chat.gateway, { error: { code: 500, message: 'inner' } });
    const { ended } = await askStream(chat.server, { question: 'zeppelin', session_id });
    await ended;
    const [stored] = await sql<{ sources: unknown[] }>(
      chat.database.db,
      "SELECT sources FROM chat_messages WHERE status = 'failed'",
    );
    expect(stored?.sources).toHaveLength(1);
  });
});
