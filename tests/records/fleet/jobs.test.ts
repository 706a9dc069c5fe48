import { beforeEach, describe, expect, it } from 'vitest';
import { clearOtherRuns, clearSharedRun, takeLeftJobs } from '../../../lib/records/fleet/ending.ts';
import {
  addHeldJob,
  claimRunJob,
  listRunJobs,
  type NewRunJob,
  publishJobs,
  readSharedRun,
} from '../../../lib/records/fleet/jobs.ts';
import { beatMember, enterRun, leaveRun, type Member } from '../../../lib/records/fleet/members.ts';
import { recordJobResult, recordJobUnchanged } from '../../../lib/records/fleet/results.ts';
import { startRun } from '../../../lib/records/recording/runs.ts';
import { everyDatabase } from '../../support/databases.ts';
import { useDatabase } from '../../support/hooks.ts';
import { empty, sql } from '../../support/records.ts';

const idle = { bytes: 0, active: [] };
const result = {
  ...{ commitHash: 'c0ffee', archiveSizeBytes: 1, durationMs: 1, errorMessage: '' },
  archive: null,
};

describe.each(everyDatabase)('jobs of a shared run over %s', (_name, create) => {
  const database = useDatabase(create);
  let near: Member;
  let far: Member;
  beforeEach(async () => {
    const { db } = database;
    await empty(db);
    const started = await startRun(db, { totalRepos: 3, staleAfterMs: 1_000, fleetToken: 'f' });
    if (!('id' in started)) throw new Error('another run is active');
    near = await enter('near', started.id);
    far = await enter('far', started.id);
  });

  async function enter(id: string, runId: number, machine = id): Promise<Member> {
    const member = {
      ...{ runId, id, machine, hostName: id, gitHostUrl: 'https://git.example' },
      isStarter: id === 'near',
    };
    expect(await enterRun(database.db, member)).toBe(true);
    return member;
  }
  const job = (repository: string, position: number, more: Partial<NewRunJob> = {}): NewRunJob => ({
    ...{ kind: 'repository', repository, position, expectedMs: null, facts: '{}', host: null },
    ...{ gitHostUrl: null, isOwn: false, ...more },
  });
  const end = job('', 0, { kind: 'end' });
  const publish = (...jobs: NewRunJob[]) => publishJobs(database.db, near, [...jobs, end]);
  const claim = async (member: Member, fullHosts: string[] = []) => {
    const claimed = await claimRunJob(database.db, member, fullHosts);
    return claimed && (claimed.kind === 'end' ? 'the end' : claimed.repository);
  };
  const record = (
    member: Member,
    repository: string,
    status: 'completed' | 'failed' = 'completed',
  ) => recordJobResult(database.db, member, { ...result, repository, status });
  const prefer = (repository: string, machine: string) =>
    sql(
      database.db,
      'INSERT INTO worker_repo_state (repo_full_name, mirror_machine) VALUES ($1, $2)',
      [repository, machine],
    );
  /** Makes a member look silent for longer than the lease. */
  const silence = (member: Member) =>
    sql(
      database.db,
      `WITH gone AS (UPDATE run_members SET seen_at = now() - interval '181 seconds' WHERE id = $1)
       UPDATE run_jobs SET lease_until = now() - interval '1 second' WHERE claimed_by = $1`,
      [member.id],
    );
  const counts = () => sql(database.db, 'SELECT successful, failed, skipped FROM backup_runs');

  it('are claimed once each, the longest first, and then the end', async () => {
    await publish(job('a/second', 1), job('a/first', 0));
    const both = await Promise.all([claim(near), claim(far)]);
    expect(both.toSorted()).toEqual(['a/first', 'a/second']);
    expect(await claim(near)).toBeNull();
    const [first, second] = both[0] === 'a/first' ? [near, far] : [far, near];
    expect(await record(first, 'a/first')).toBe(true);
    expect(await claim(near)).toBeNull();
    expect(await record(second, 'a/second')).toBe(true);
    const ends = await Promise.all([claim(near), claim(far)]);
    expect(ends.toSorted()).toEqual([null, 'the end']);
  });

  it('are claimed only once all are published, so that the longest comes first', async () => {
    await publishJobs(database.db, near, [job('a/short', 1)]);
    expect(await claim(near)).toBeNull();
    await publish(job('a/long', 0));
    expect(await claim(near)).toBe('a/long');
  });

  it('go to the machine with the mirror first, then to any, and finally to others', async () => {
    await prefer('a/far', 'far');
    await prefer('a/near', 'near');
    await publish(job('a/far', 0), job('a/any', 1), job('a/near', 2));
    expect(await claim(near)).toBe('a/near');
    expect(await claim(near)).toBe('a/any');
    expect(await claim(near)).toBeNull();
    await sql(database.db, "UPDATE run_jobs SET created_at = now() - interval '61 seconds'");
    expect(await claim(near)).toBe('a/far');
  });

  it('do not wait for a machine that is no longer there', async () => {
    await prefer('a/far', 'far');
    await publish(job('a/far', 0));
    expect(await claim(near)).toBeNull();
    await silence(far);
    expect(await claim(near)).toBe('a/far');
  });

  it('are skipped if their host is full, or if only another member can do them', async () => {
    await publish(
      job('a/full', 0, { host: 'busy.example' }),
      job('a/other', 1, { gitHostUrl: 'https://other.example' }),
      job('a/own', 2, { isOwn: true }),
      job('a/free', 3, { host: 'free.example' }),
    );
    expect(await claim(far, ['busy.example'])).toBe('a/free');
    expect(await claim(far, ['busy.example'])).toBeNull();
    expect(await claim(far)).toBe('a/full');
    expect(await claim(far)).toBeNull();
    expect(await claim(near)).toBe('a/own');
  });

  it('can be claimed again when the lease has ended, and are then lost to their former holder', async () => {
    await publish(job('a/b', 0));
    expect(await claim(far)).toBe('a/b');
    await silence(far);
    expect(await claim(near)).toBe('a/b');
    expect(await record(far, 'a/b')).toBe(false);
    expect(await sql(database.db, 'SELECT id FROM backup_results')).toEqual([]);
    expect(await record(near, 'a/b')).toBe(true);
    expect(await counts()).toEqual([{ successful: 1, failed: 0, skipped: 0 }]);
  });

  it('are freed at once when their machine enters again', async () => {
    await publish(job('a/b', 0));
    expect(await claim(far)).toBe('a/b');
    await enter('far-2', near.runId, 'far');
    expect(await beatMember(database.db, far, idle, [])).toBeNull();
    expect(await claim(near)).toBe('a/b');
  });

  it('stay held while the member sends heartbeats', async () => {
    await publish(job('a/b', 0));
    const claimed = await claimRunJob(database.db, near, []);
    const jobs = [claimed?.id ?? ''];
    await sql(database.db, "UPDATE run_jobs SET lease_until = now() + interval '1 second'");
    expect(await beatMember(database.db, near, idle, jobs)).toBe(1);
    const lease = `SELECT (lease_until > now() + interval '2 minutes')::int AS held FROM run_jobs
      WHERE kind = 'repository'`;
    expect(await sql(database.db, lease)).toEqual([{ held: 1 }]);
    await sql(database.db, "UPDATE run_jobs SET claimed_by = 'far'");
    expect(await beatMember(database.db, near, idle, jobs)).toBe(0);
  });

  it('are recorded once, however often the statement is repeated', async () => {
    await publish(job('a/good', 0), job('a/bad', 1), job('a/same', 2));
    for (let n = 0; n < 3; n++) await claim(near);
    const unchanged = { repository: 'a/same', message: 'unchanged, skipped' };
    for (let n = 0; n < 2; n++) {
      expect(await record(near, 'a/good')).toBe(true);
      expect(await record(near, 'a/bad', 'failed')).toBe(true);
      expect(await recordJobUnchanged(database.db, near, unchanged)).toBe(true);
    }
    expect(await counts()).toEqual([{ successful: 1, failed: 1, skipped: 1 }]);
    const rows = 'SELECT repo_full_name AS name FROM backup_results ORDER BY 1';
    expect(await sql(database.db, rows)).toEqual([{ name: 'a/bad' }, { name: 'a/good' }]);
    expect(await sql(database.db, 'SELECT message FROM execution_logs')).toHaveLength(1);
  });

  it('are given up after three workers have died of them, so that the run ends', async () => {
    await publish(job('a/poison', 0));
    for (let n = 0; n < 3; n++) {
      expect(await claim(far)).toBe('a/poison');
      await sql(database.db, "UPDATE run_jobs SET lease_until = '-infinity'");
    }
    expect(await claim(near)).toBe('the end');
    expect(await takeLeftJobs(database.db, far)).toEqual([]);
    expect(await takeLeftJobs(database.db, near)).toMatchObject([
      { repository: 'a/poison', tries: 3 },
    ]);
    expect(await record(near, 'a/poison', 'failed')).toBe(true);
  });

  it('do not keep the run from ending if only a dead member could do them', async () => {
    await publish(job('a/own', 0, { isOwn: true }));
    expect(await claim(far)).toBeNull();
    await silence(near);
    expect(await claim(far)).toBe('the end');
    expect(await takeLeftJobs(database.db, far)).toMatchObject([{ repository: 'a/own', isOwn: 1 }]);
  });

  it('are given back by a member that leaves, without counting as tried', async () => {
    await publish(job('a/b', 0));
    expect(await claim(far)).toBe('a/b');
    expect(await leaveRun(database.db, far)).toBe(1);
    expect(await claim(far)).toBeNull();
    expect(await claim(near)).toBe('a/b');
    const tries = `SELECT tries FROM run_jobs WHERE kind = 'repository'`;
    expect(await sql(database.db, tries)).toEqual([{ tries: 1 }]);
    expect(await leaveRun(database.db, near)).toBe(0);
  });

  it('may be published again, and may have a result that no backup made', async () => {
    await publish(job('a/b', 0, { expectedMs: 5 }), job('a/out', 0, { kind: 'left_out' }));
    await publish(job('a/b', 0));
    expect(await listRunJobs(database.db, near.runId)).toEqual([
      { repository: 'a/out', expectedMs: null, kind: 'left_out' },
      { repository: 'a/b', expectedMs: '5', kind: 'repository' },
    ]);
    for (let n = 0; n < 2; n++) {
      await addHeldJob(database.db, near, 'a/found');
      expect(await record(near, 'a/found', 'failed')).toBe(true);
    }
    expect(await counts()).toEqual([{ successful: 0, failed: 1, skipped: 0 }]);
  });

  it('end with their run', async () => {
    await publish(job('a/b', 0));
    await sql(database.db, "UPDATE backup_runs SET status = 'failed', exclusive_key = NULL");
    expect(await claim(near)).toBeNull();
    expect(await beatMember(database.db, near, idle, [])).toBeNull();
    expect(await enterRun(database.db, { ...near, id: 'late', machine: 'late' })).toBe(false);
    expect(await readSharedRun(database.db, near.runId)).toMatchObject({ isActive: false });
    const rows = () =>
      sql(
        database.db,
        'SELECT (SELECT count(*) FROM run_jobs)::int AS jobs, (SELECT count(*) FROM run_members)::int AS members',
      );
    await sql(
      database.db,
      `INSERT INTO run_jobs (run_id, kind, repository, created_at)
       VALUES ($1::int, 'repository', 'a/old', now() - interval '1 day'), ($1::int + 1, 'end', '', now())`,
      [near.runId],
    );
    await sql(
      database.db,
      `INSERT INTO run_members (run_id, id, machine, seen_at)
       VALUES ($1::int, 'old', 'old', now() - interval '1 day'), ($1::int + 1, 'other', 'other', now())`,
      [near.runId],
    );
    await clearOtherRuns(database.db, near.runId);
    expect(await rows()).toEqual([{ jobs: 2, members: 2 }]);
    await clearSharedRun(database.db, near.runId);
    expect(await rows()).toEqual([{ jobs: 0, members: 0 }]);
  });

  it('are waited for only while a member is listing them', async () => {
    const state = () => readSharedRun(database.db, near.runId);
    expect(await state()).toEqual({
      ...{ isActive: true, isListed: false, hasStarter: true },
      ...{ done: 0, failed: 0, unread: 0 },
    });
    await silence(near);
    expect(await state()).toMatchObject({ isActive: true, isListed: false, hasStarter: false });
    // A starter that has its run and is about to enter it.
    await sql(database.db, 'DELETE FROM run_members WHERE is_starter');
    expect(await state()).toMatchObject({ hasStarter: true });
    await publish();
    expect(await state()).toMatchObject({ isListed: true });
  });

  it('show their progress together, that of live members only, with the bytes of all', async () => {
    const at = (repository: string) => ({ repository, phase: 'cloning', percent: 1, bytes: 2 });
    const many = Array.from({ length: 16 }, (_, n) => at(`far/${n}`));
    await beatMember(database.db, far, { bytes: 7, active: many }, []);
    await beatMember(database.db, near, { bytes: 5, active: [at('near/1')] }, []);
    const progress = async () => {
      const [row] = await sql<{ text: string }>(
        database.db,
        'SELECT progress::text AS text FROM backup_runs',
      );
      return JSON.parse(row?.text ?? 'null') as { bytes: number; active: { repository: string }[] };
    };
    const both = await progress();
    expect(both.bytes).toBe(12);
    expect(both.active).toHaveLength(16);
    expect(both.active.slice(0, 3).map(({ repository }) => repository)).toEqual([
      'far/0',
      'near/1',
      'far/1',
    ]);
    await silence(far);
    await beatMember(database.db, near, { bytes: 6, active: [at('near/2')] }, []);
    expect(await progress()).toEqual({ bytes: 13, active: [at('near/2')] });
  });
});
