import { beforeAll, describe, expect, it } from 'vitest';
import { backupsEndpoints } from '../../lib/backups/backups-endpoints.ts';
import { type Client, createClient } from '../support/client.ts';
import { useDatabase } from '../support/hooks.ts';
import { insertLog, insertResult, insertRun, insertSnapshot } from '../support/records.ts';

const database = useDatabase();
let client: Client;

beforeAll(async () => {
  client = createClient({ db: database.db });
  const run = await insertRun(database.db);
  await insertResult(database.db, run, 'owner/repo');
  await insertLog(database.db, { run_id: run });
  await insertSnapshot(database.db, { run_id: run });
});

/** Values that are not integers: 400 wherever an integer is expected. */
const notIntegers = [
  '',
  'abc',
  '1.5',
  '1.0',
  '1e3',
  '+1',
  ' 1',
  '0x10',
  '١٢٣',
  '\uff11',
  '1_000',
  '1\0',
  '\0',
  'NaN',
  'Infinity',
  'null',
  '[1]',
  '{}',
  '1;DROP TABLE backup_runs',
  "1' OR '1'='1",
  '-',
  '--1',
  '__proto__',
  'constructor',
  '1\n',
  'x'.repeat(5_000),
];
/** Integers of any size and sign: never rejected, and at worst answered with an empty list. */
const integers = ['0', '-0', '-1', '007', '2147483647', '2147483648', '-2147483649'].concat(
  ['4294967296', '9007199254740992', '9223372036854775807', '9223372036854775808'],
  ['-9223372036854775809', '9'.repeat(30), '9'.repeat(400), `-${'9'.repeat(400)}`],
);

const integerParameters = [
  ...[
    '/api/backups',
    '/api/analytics/history',
    '/api/repos',
    '/api/logs',
    '/api/fixes',
    '/api/run-requests',
    '/api/badges',
  ].flatMap((path) => [`${path}?page=`, `${path}?limit=`]),
  '/api/logs?run_id=',
  '/api/fixes?run_id=',
  '/api/metrics?days=',
];

describe.each(integerParameters)('%s', (prefix) => {
  it.each(notIntegers)('rejects %j', async (value) => {
    const { status, body } = await client.get(`${prefix}${encodeURIComponent(value)}`);
    expect(status).toBe(400);
    expect(body).toMatchObject({ error: expect.stringMatching(/must be an integer$/) });
  });

  it.each(integers)('accepts %s', async (value) => {
    expect((await client.get(`${prefix}${value}`)).status).toBe(200);
  });

  it('is rejected if it is given twice', async () => {
    const parameter = prefix.split('?')[1];
    const { status, body } = await client.get(`${prefix}1&${parameter}1`);
    expect(status).toBe(400);
    expect(body).toMatchObject({ error: expect.stringMatching(/must be given once$/) });
  });
});

describe.each(['/api/backups/', '/api/analytics/'])('%s:id', (prefix) => {
  it.each(notIntegers.filter((value) => value !== ''))('rejects %j', async (value) => {
    const { status } = await client.get(`${prefix}${encodeURIComponent(value)}`);
    expect(status).toBe(400);
  });

  it.each(integers)('finds nothing for %s', async (value) => {
    expect((await client.get(`${prefix}${value}`)).status).toBe(404);
  });

  it.each(['1/2', '1%2F2', '..%2f..%2fetc', '1/', '%', '%zz', '%ff', '%00', '%e0%a4%a'])(
    'rejects the path %s or finds nothing',
    async (rest) => {
      expect([400, 404]).toContain((await client.get(`${prefix}${rest}`)).status);
    },
  );
});

describe('a query parameter', () => {
  const strange = [
    '__proto__=1',
    '__proto__[x]=1',
    'constructor=1&constructor=2',
    'unknown=%00',
    '%',
    '%ff=%ff',
    '&&&===',
    `${'a'.repeat(20_000)}=1`,
    Array.from({ length: 2_000 }, (_, n) => `p${n}=1`).join('&'),
  ];

  it.each(strange.map((query) => [query.slice(0, 30), query]))(
    'is ignored if the route does not declare it: %s',
    async (_name, query) => {
      const { status } = await client.get(`/api/backups?${query}`);
      expect(status).toBe(200);
    },
  );

  it('is rejected if it is an unknown format of /metrics', async () => {
    expect((await client.get('/metrics?format=xml')).status).toBe(400);
    expect((await client.get('/metrics?format=json&format=json')).status).toBe(400);
  });
});

describe('a method that a path does not support', () => {
  const routes = backupsEndpoints.map(({ route }) => route);
  const paths = [...new Set(routes.map(({ path }) => path.replace(/:\w+/g, '1')))];
  const order = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'];
  const methodsOf = (isOf: (path: string) => boolean) => {
    const of = routes.filter(({ path }) => isOf(path)).map(({ method }) => method.toUpperCase());
    return order.filter((method) => of.includes(method === 'HEAD' ? 'GET' : method));
  };

  it.each(paths)('is rejected with the supported ones: %s', async (path) => {
    const methods = methodsOf((route) => route.replace(/:\w+/g, '1') === path);
    // A path such as /api/schedules/preview also matches the pattern of another route.
    const taken = methodsOf((route) =>
      new RegExp(`^${route.replace(/:\w+/g, '[^/]+')}$`).test(path),
    );
    const other = order.toReversed().find((method) => !taken.includes(method)) ?? '';
    const { status, headers, body } = await client.send(other, path);
    expect(status).toBe(405);
    const allowed = headers.get('allow')?.split(', ') ?? [];
    expect(allowed.toSorted()).toEqual(methods.toSorted());
    expect(body).toMatchObject({ error: `${other} is not allowed here` });
  });
});

it.each(['/api', '/api/', '/api/nope', '/api/internal/backups', '/nope', '/', '/api//backups'])(
  'the unknown path %s returns 404',
  async (path) => {
    const { status, headers, body } = await client.get(path);
    expect(status).toBe(404);
    expect(body).toEqual({
      error: 'there is nothing here',
      request_id: headers.get('x-request-id'),
    });
  },
);

it('HEAD is answered like GET, without a body', async () => {
  const { status, text, headers } = await client.send('HEAD', '/api/backups');
  expect(status).toBe(200);
  expect(text).toBe('');
  expect(headers.get('content-type')).toBe('application/json');
});
