import { setImmediate } from 'node:timers/promises';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { claimRequests } from '../../lib/records/recording/requests.ts';
import { type Client, createClient } from '../support/client.ts';
import { connect } from '../support/connection.ts';
import { useDatabase } from '../support/hooks.ts';
import { ADA, observatoryEnvironment, signToken } from '../support/observatory-client.ts';
import { empty, insert, insertResult, insertRun, sql } from '../support/records.ts';

const database = useDatabase();
let client: Client;
let run: number;

beforeAll(async () => {
  client = createClient({ db: database.db, environment: observatoryEnvironment });
});
beforeEach(async () => {
  await empty(database.db);
  run = await insertRun(database.db, { status: 'running' });
  await insertResult(database.db, run, 'Owner/App');
});

const path = '/api/run-requests';
const insertRequest = (row = {}) => insert(database.db, 'backup_run_requests', row);
const withdraw = (id: number) => client.send('DELETE', `${path}/${id}`);
const storedStatus = async (id: number) => {
  const text = 'SELECT status FROM backup_run_requests WHERE id = $1';
  const [row] = await sql<{ status: string }>(database.db, text, [id]);
  return row?.status;
};

describe('GET /api/run-requests', () => {
  it('returns every field, newest first, including rows of other writers', async () => {
    const first = await insertRequest({
      status: 'claimed',
      target_repo: 'owner/app',
      requested_by: 'mcp',
      reason: 'why',
      created_at: '2026-03-01T00:00:00.000001Z',
      claimed_at: '2026-03-01T01:00:00Z',
      run_id: run,
    });
    const second = await insertRequest({ target_repo: '' });
    expect((await client.get(path)).body).toEqual({
      data: [
        {
          id: second,
          status: 'pending',
          target_repo: null,
          requested_by: '',
          reason: '',
          created_at: expect.any(String),
          claimed_at: null,
          run_id: null,
          withdrawn: false,
        },
        {
          id: first,
          status: 'claimed',
          target_repo: 'owner/app',
          requested_by: 'mcp',
          reason: 'why',
          created_at: '2026-03-01T00:00:00.000001Z',
          claimed_at: '2026-03-01T01:00:00.000000Z',
          run_id: run,
          withdrawn: false,
        },
      ],
      pagination: { page: 1, limit: 50, total_items: 2, total_pages: 1 },
    });
  });

  it.each(['pending', 'claimed', 'completed', 'failed'])(
    'returns and counts only %s requests',
    async (status) => {
      for (const one of ['pending', 'claimed', 'completed', 'failed']) {
        await insertRequest({ status: one });
      }
      expect((await client.get(`${path}?status=${status}`)).body).toMatchObject({
        data: [{ status }],
        pagination: { total_items: 1 },
      });
    },
  );

  it('rejects an unknown status', async () => {
    expect((await client.get(`${path}?status=withdrawn`)).status).toBe(400);
  });
});

describe('POST /api/run-requests', () => {
  it('queues a run in the name of the user', async () => {
    const headers = { Authorization: `Bearer ${await signToken(client.deps, ADA.username)}` };
    const asked = { target_repo: 'OWNER/app', reason: 'before the move' };
    const { status, body } = await client.post(path, asked, headers);
    expect([status, body]).toEqual([
      201,
      {
        id: 1,
        status: 'pending',
        target_repo: 'owner/app',
        requested_by: 'ada',
        reason: 'before the move',
        created_at: expect.any(String),
        claimed_at: null,
        run_id: null,
        withdrawn: false,
        already_queued: false,
      },
    ]);
  });

  it('queues a run of all repositories in the name of api, without a body', async () => {
    const { status, body } = await client.send('POST', path);
    expect([status, body]).toMatchObject([201, { target_repo: null, requested_by: 'api' }]);
  });

  it('returns a request that is already pending', async () => {
    await client.post(path, { target_repo: 'owner/app', reason: 'first' });
    const { status, body } = await client.post(path, { target_repo: 'Owner/App' });
    expect([status, body]).toMatchObject([200, { id: 1, reason: 'first', already_queued: true }]);
  });

  it('answers 404 for a repository that is not tracked', async () => {
    const { status, body } = await client.post(path, { target_repo: 'owner/other' });
    expect([status, body]).toMatchObject([404, { error: 'no repository of that name is tracked' }]);
    expect((await client.get(path)).body).toMatchObject({ data: [] });
  });

  it.each([{ target_repo: '' }, { target_repo: 7 }, { reason: 'r'.repeat(501) }])(
    'rejects %j',
    async (request) => {
      expect((await client.post(path, request)).status).toBe(400);
    },
  );
});

describe('DELETE /api/run-requests/:id', () => {
  it('withdraws a pending request, and marks it as withdrawn', async () => {
    await client.post(path, { target_repo: 'owner/app' });
    const { status, body } = await withdraw(1);
    expect([status, body]).toMatchObject([
      200,
      { id: 1, status: 'failed', withdrawn: true, claimed_at: null, run_id: null },
    ]);
    expect((await client.get(path)).body).toMatchObject({ data: [{ id: 1, withdrawn: true }] });
    expect(await claimRequests(database.db, run, [1])).toEqual([]);
    const again = await client.post(path, { target_repo: 'owner/app' });
    expect([again.status, again.body]).toMatchObject([201, { id: 2 }]);
  });

  it.each(['claimed', 'completed', 'failed'])('leaves a %s request unchanged', async (status) => {
    const id = await insertRequest({ status, run_id: run });
    expect((await withdraw(id)).status).toBe(409);
    expect(await storedStatus(id)).toBe(status);
  });

  it.each(['999', '0', '-1', '9223372036854775808'])('answers 404 for %s', async (id) => {
    expect((await client.send('DELETE', `${path}/${id}`)).status).toBe(404);
  });

  it('answers 400 for an id that is not a number', async () => {
    expect((await client.send('DELETE', `${path}/x`)).status).toBe(400);
  });

  it('waits for a worker that is claiming the request, and is then rejected', async () => {
    const id = await insertRequest();
    const worker = await connect(database.url);
    await worker.query('BEGIN');
    await worker.query('SELECT id FROM backup_run_requests WHERE id = $1 FOR UPDATE', [id]);
    await worker.query(
      "UPDATE backup_run_requests SET status = 'claimed', run_id = $2 WHERE id = $1",
      [id, run],
    );
    const answer = withdraw(id);
    const blocked = 'SELECT FROM pg_locks WHERE NOT granted AND pid <> pg_backend_pid()';
    while ((await worker.query(blocked)).rowCount === 0) await setImmediate();
    await worker.query('COMMIT');
    await worker.end();
    expect((await answer).status).toBe(409);
    expect(await storedStatus(id)).toBe('claimed');
  });

  it('keeps workers from claiming a request that is being withdrawn', async () => {
    const id = await insertRequest();
    const other = await connect(database.url);
    await other.query('BEGIN');
    await other.query("UPDATE backup_run_requests SET status = 'failed' WHERE id = $1", [id]);
    expect(await claimRequests(database.db, run, [id])).toEqual([]);
    await other.query('COMMIT');
    await other.end();
    expect(await storedStatus(id)).toBe('failed');
  });

  it('competes with workers at the same moment, and each request goes to only one of them', async () => {
    const ids: number[] = [];
    for (let count = 0; count < 40; count++) ids.push(await insertRequest());
    const [answers, ...claims] = await Promise.all([
      Promise.all(ids.map(async (id) => ({ id, ...(await withdraw(id)) }))),
      ...[0, 1, 2].map(() => claimRequests(database.db, run, ids)),
    ]);
    const claimed = new Set(claims.flat().map(({ id }) => id));
    const withdrawn = answers.filter(({ status }) => status === 200).map(({ id }) => id);
    expect(withdrawn.filter((id) => claimed.has(id))).toEqual([]);
    expect(withdrawn.length + claimed.size).toBe(ids.length);
    for (const { id, status } of answers) {
      expect([id, status]).toEqual([id, claimed.has(id) ? 409 : 200]);
      expect(await storedStatus(id)).toBe(claimed.has(id) ? 'claimed' : 'failed');
    }
  });
});
