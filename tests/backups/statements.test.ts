import { createHash, generateKeyPairSync } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { beforeEach, describe, expect, it } from 'vitest';
import { sweep } from '../../lib/backups/runs/stale-run-sweep.ts';
import type { NewDrill } from '../../lib/records/drills/new-drill.ts';
import { recordDrill } from '../../lib/records/drills/record.ts';
import { createClient } from '../support/client.ts';
import { createTestClock } from '../support/clock.ts';
import { emptyLedger, someDrill, tamper } from '../support/drills.ts';
import { useDatabase } from '../support/hooks.ts';
import { audit, hasOpenssl } from '../support/openssl.ts';
import { sql } from '../support/records.ts';

const database = useDatabase();
const NOW = Date.parse('2026-05-20T12:00:00Z');
const SECRET = 'ab'.repeat(32);

beforeEach(() => emptyLedger(database.db));

const client = (secret: string | undefined = SECRET) =>
  createClient({
    ...{ db: database.db, clock: createTestClock(NOW) },
    environment: { CREDENTIALS_ENCRYPTION_KEY: secret },
  });
const FILES = [
  { name: 'ada-app.bundle', sha256: '1'.repeat(64) },
  { name: 'ada-app.1.bundle', sha256: '2'.repeat(64) },
];
const drill = (day: number, more: Partial<NewDrill> = {}) =>
  recordDrill(
    database.db,
    someDrill({ startedAt: `2026-05-${String(day).padStart(2, '0')}T10:00:00.000Z`, ...more }),
    null,
  );
/** Makes the key, as the start of the server does. */
const makeKey = (secret = SECRET) => sweep({ ...client(secret).deps, outageMemory: null });

const head = 'c'.repeat(40);
const whole: Partial<NewDrill> = {
  evidence: {
    ...someDrill().evidence,
    archive_files: FILES,
    ref_list: [`${head} HEAD`, `${head} refs/heads/main`, `${'d'.repeat(40)} refs/tags/v 1`],
    head,
  },
};

interface SigningKey {
  id: string;
  public_key: string;
  is_current: boolean;
  after_drill: number;
  retired_at: string | null;
}
const keys = async () =>
  ((await client().get('/api/signing-keys')).body as { data: SigningKey[] }).data;
const statesOf = async () => {
  const { body } = await client().get('/api/repos/ada/app/drills');
  return (body as { data: { id: number; statement: string }[] }).data.map(
    ({ id, statement }) => `${id} ${statement}`,
  );
};

/** Everything that an auditor downloads about a drill. */
async function download(id: number, key?: string) {
  const of = (format: string) => client().get(`/api/drills/${id}/statement?format=${format}`);
  const [envelope, statement, signature] = await Promise.all(
    ['envelope', 'statement', 'signature'].map(of),
  );
  if (!envelope || !statement || !signature) throw new Error('three answers were expected');
  expect([envelope.status, statement.status, signature.status]).toEqual([200, 200, 200]);
  const { signatures } = envelope.body as { signatures: [{ keyid: string; sig: string }] };
  const pem = (await client().get(`/api/signing-keys/${key ?? signatures[0].keyid}.pem`)).text;
  return { envelope, statement, signature, pem };
}

/** The command that docs/restore-drills.md tells auditors to run, with the names of files of a drill. */
const documented = (about: string, id: number): string => {
  const text = readFileSync(new URL('../../docs/restore-drills.md', import.meta.url), 'utf8');
  const found = new RegExp(`<!-- ${about} -->\n\n\`\`\`text\n([^]*?)\`\`\``).exec(text)?.[1];
  if (found === undefined) throw new Error(`no command is documented for ${about}`);
  return found.replaceAll('12', String(id));
};

describe('the statement about a drill', () => {
  it('is an in-toto statement about the files of the archive, what was proved, and the ledger', async () => {
    await drill(1);
    await makeKey();
    await drill(2, whole);
    const { statement } = await download(2);
    const [before, entry] = await sql<{ id: string; sha256: string; previous_sha256: string }>(
      database.db,
      'SELECT id::text, sha256, previous_sha256 FROM restore_drills ORDER BY 1',
    );
    expect(JSON.parse(statement.text)).toEqual({
      _type: 'https://in-toto.io/Statement/v1',
      subject: FILES.map(({ name, sha256 }) => ({ name, digest: { sha256 } })),
      predicateType: 'urn:backup-observatory:restore-drill:v1',
      predicate: {
        ...{ repository: 'ada/app', version: 3, storage: 'folder' },
        ...{ startedAt: '2026-05-02T10:00:00.000000Z', durationMs: 1_200, bytes: 4_096 },
        ...{ outcome: 'proven', reason: null },
        refs: {
          ...{ count: 2, sha256: 'a'.repeat(64), isComplete: true },
          listed: [
            { name: 'HEAD', id: head },
            { name: 'refs/heads/main', id: head },
            { name: 'refs/tags/v 1', id: 'd'.repeat(40) },
          ],
        },
        head: { commit: head, tree: 'b'.repeat(40) },
        evidence: {},
        provenBy: { name: 'Backup Observatory', version: '0.1.0', git: '2.39.5' },
        signedAt: '2026-05-20T12:00:00.000Z',
        ledger: {
          entry: { id: '2', sha256: entry?.sha256, previousSha256: before?.sha256 },
          head: { id: '2', sha256: entry?.sha256 },
        },
      },
    });
  });

  it('has the row of the ledger as its subject if no file was proven', async () => {
    await makeKey();
    await drill(1, {
      outcome: 'failed',
      reason: 'CORRUPT',
      version: null,
      evidence: { version: '1', git_version: '2' },
    });
    // A row of another program.
    await sql(
      database.db,
      `INSERT INTO restore_drills (repository_name, storage, started_at, duration_ms, bytes, outcome, evidence)
       VALUES ('ada/app', 'folder', '2026-05-03', 1, 2, 'proven', '["odd"]')`,
    );
    const rows = await sql<{ sha256: string }>(
      database.db,
      'SELECT sha256 FROM restore_drills ORDER BY id',
    );
    for (const [index, outcome] of ['failed', 'proven'].entries()) {
      const { statement } = await download(index + 1);
      expect(JSON.parse(statement.text)).toMatchObject({
        subject: [{ name: `restore_drills/${index + 1}`, digest: { sha256: rows[index]?.sha256 } }],
        predicate: { outcome, refs: null, head: null },
      });
    }
  });

  it('exists for drills since the key was made, and is listed', async () => {
    await drill(1);
    expect(await statesOf()).toEqual(['1 no_key']);
    const missing = await client().get('/api/drills/1/statement');
    expect(missing).toMatchObject({
      status: 404,
      body: { error: expect.stringContaining('no signing key yet') },
    });
    await makeKey();
    await drill(2);
    await drill(3, { repository: 'ada/other' });
    expect(await statesOf()).toEqual(['2 pending', '1 before_key']);
    await makeKey();
    expect(await statesOf()).toEqual(['2 signed', '1 before_key']);
    const { error } = (await client().get('/api/drills/1/statement')).body as { error: string };
    expect(error).toBe(
      'drill 1 has no signed statement: it was recorded before this installation had a signing key',
    );
    expect((await client().get('/api/drills/99/statement')).status).toBe(404);
    const [key] = await keys();
    expect((await client().get('/api/statements')).body).toMatchObject({
      data: [
        { drill_id: 3, repository: 'ada/other', key_id: key?.id },
        { drill_id: 2, repository: 'ada/app', outcome: 'proven' },
      ],
      pagination: { total_items: 2 },
    });
    expect((await client().get('/api/statements?repository=ADA/app')).body).toMatchObject({
      data: [{ drill_id: 2 }],
    });
  });

  it('is not made for a row that was altered before it was signed', async () => {
    await makeKey();
    for (const day of [1, 2, 3]) await drill(day);
    await tamper(database.db, 'UPDATE restore_drills SET bytes = 5 WHERE id = 2');
    const world = client();
    await sweep({ ...world.deps, outageMemory: null });
    expect(await statesOf()).toEqual(['3 signed', '2 altered', '1 signed']);
    expect(world.deps.logged).toContainEqual(
      expect.objectContaining({
        level: 'error',
        drill: '2',
        message: expect.stringContaining('altered'),
      }),
    );
  });

  it('cannot be changed or removed', async () => {
    await makeKey();
    await drill(1);
    await download(1);
    for (const change of [
      "UPDATE drill_statements SET statement = ''",
      'DELETE FROM drill_statements',
      'TRUNCATE drill_statements',
    ]) {
      await expect(sql(database.db, change)).rejects.toMatchObject({
        message: expect.stringContaining('drill_statements is append-only'),
      });
    }
  });

  it('lists the first refs, and says that there are more, if a repository has very many', async () => {
    await makeKey();
    await drill(1, {
      evidence: { ...someDrill().evidence, refs: 3, ref_list: [`${head} refs/heads/a`] },
    });
    const { statement } = await download(1);
    expect(JSON.parse(statement.text).predicate.refs).toMatchObject({
      count: 3,
      isComplete: false,
      listed: [{ name: 'refs/heads/a' }],
    });
  });
});

describe.skipIf(!hasOpenssl)('an auditor with openssl (skipped without openssl)', () => {
  it.each([
    [
      'the statement and its detached signature',
      'verify the statement',
      'Signature Verified Successfully',
    ],
    ['the envelope', 'verify the envelope', 'Signature Verified Successfully'],
    ['the id of the key', 'compute the id of the key', ''],
  ])('verifies %s with the documented command', async (_what, about, expected) => {
    await makeKey();
    await drill(1, whole);
    const { envelope, statement, signature, pem } = await download(1);
    const files = {
      'key.pem': pem,
      'restore-drill-1.dsse.json': envelope.text,
      'restore-drill-1.statement.json': statement.text,
      'restore-drill-1.statement.sig': signature.bytes,
    };
    const command = documented(about, 1);
    const { isValid, output } = await audit({ files, command });
    expect({ isValid, output }).toEqual({
      isValid: true,
      output: expect.stringContaining(expected),
    });
    if (about === 'compute the id of the key') {
      expect(output).toContain((await keys())[0]?.id);
      return;
    }
    const other = generateKeyPairSync('ed25519').publicKey.export({ type: 'spki', format: 'pem' });
    const forged = [
      ['a key of another installation', { ...files, 'key.pem': other.toString() }],
      [
        'a changed statement',
        { ...files, 'restore-drill-1.statement.json': statement.text.replace('proven', 'Proven') },
      ],
      [
        'a changed envelope',
        { ...files, 'restore-drill-1.dsse.json': changePayload(envelope.text) },
      ],
      [
        'a changed signature',
        { ...files, 'restore-drill-1.statement.sig': changeFirst(signature.bytes) },
      ],
    ] as const;
    const refused = [];
    for (const [what, changed] of forged) {
      if (!(await audit({ files: changed, command })).isValid) refused.push(what);
    }
    expect(refused).toEqual(
      about === 'verify the statement'
        ? ['a key of another installation', 'a changed statement', 'a changed signature']
        : ['a key of another installation', 'a changed envelope'],
    );
  });

  it('gets the statement as the payload of the envelope, byte by byte', async () => {
    await makeKey();
    await drill(1, whole);
    const { envelope, statement } = await download(1);
    const { payload, payloadType } = envelope.body as { payload: string; payloadType: string };
    expect(Buffer.from(payload, 'base64').toString()).toBe(statement.text);
    expect(payloadType).toBe('application/vnd.in-toto+json');
    expect(envelope.headers.get('content-disposition')).toContain('restore-drill-1.dsse.json');
  });
});

function changePayload(envelope: string): string {
  const { payload, ...rest } = JSON.parse(envelope);
  const text = Buffer.from(payload, 'base64').toString().replace('ada/app', 'ada/App');
  return JSON.stringify({ payload: Buffer.from(text).toString('base64'), ...rest });
}

function changeFirst(bytes: Uint8Array): Uint8Array {
  const changed = Uint8Array.from(bytes);
  changed[0] = 255 - (changed[0] ?? 0);
  return changed;
}

describe('the signing key', () => {
  it('is made once for all servers of a database, and its private part is sealed and never sent', async () => {
    await Promise.all([makeKey(), makeKey(), makeKey()]);
    const answer = await client().get('/api/signing-keys');
    const [key, ...others] = await keys();
    expect(others).toEqual([]);
    expect(answer.text).not.toMatch(/PRIVATE|sealed/i);
    const [row] = await sql<{ sealed_private_key: string }>(
      database.db,
      'SELECT sealed_private_key FROM signing_keys',
    );
    expect(row?.sealed_private_key).toMatch(/^v1\.[\w-]+$/);
    const der = Buffer.from(key?.public_key.replace(/-.*-|\s/g, '') ?? '', 'base64');
    expect(createHash('sha256').update(der).digest('hex')).toBe(key?.id);
  });

  it('can be replaced: what the former one has signed stays valid', async () => {
    await makeKey();
    await drill(1);
    const before = await download(1);
    const { status, body } = await client().post('/api/signing-keys', {});
    expect(status).toBe(201);
    await drill(2);
    const after = await download(2);
    const [current, former] = await keys();
    expect(current).toMatchObject({
      id: (body as { id: string }).id,
      is_current: true,
      retired_at: null,
      created_by: 'api',
      after_drill: 1,
    });
    expect(former).toMatchObject({ is_current: false, retired_at: expect.any(String) });
    expect([before.pem, after.pem]).toEqual([former?.public_key, current?.public_key]);
    expect((await download(1)).envelope.text).toBe(before.envelope.text);
    const sealed = await sql(
      database.db,
      'SELECT sealed_private_key IS NULL AS gone FROM signing_keys ORDER BY created_at',
    );
    expect(sealed).toEqual([{ gone: true }, { gone: false }]);
    expect((await client().get('/api/signing-keys/none')).status).toBe(404);
  });

  it('is needed with its secret: without it nothing is signed, and nothing is lost', async () => {
    await makeKey();
    await drill(1);
    const other = client('cd'.repeat(32));
    await sweep({ ...other.deps, outageMemory: null });
    expect(other.deps.logged).toContainEqual(
      expect.objectContaining({
        level: 'error',
        message: expect.stringContaining('another CREDENTIALS_ENCRYPTION_KEY'),
      }),
    );
    const unsealed = await other.get('/api/drills/1/statement');
    expect(unsealed).toMatchObject({
      status: 404,
      body: { error: expect.stringContaining('could not be signed yet') },
    });
    expect(await createClient({ db: database.db }).post('/api/signing-keys', {})).toMatchObject({
      status: 503,
    });
    expect(await keys()).toHaveLength(1);
    // The new secret first, and the former one for what it has sealed.
    const both = client(`${'cd'.repeat(32)},${SECRET}`);
    expect((await both.get('/api/drills/1/statement')).status).toBe(200);
    await drill(2);
    expect((await client('cd'.repeat(32)).get('/api/drills/2/statement')).status).toBe(200);
  });
});
