import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { askStream, say, scriptChat } from '../support/chat.ts';
import { TEST_SECRET } from '../support/deps.ts';
import { temporaryFolder } from '../support/folders.ts';
import { createRepository } from '../support/git.ts';
import { ADDRESSES } from '../support/mail.ts';
import { asMessage, connectSse } from '../support/mcp.ts';
import { ADA } from '../support/observatory-client.ts';
import type { AccessWorld } from './access-world.ts';

/** The part of the test world that requests need. */
export type RequestWorld = { server: { url: string } } & Pick<AccessWorld, 'gateway' | 'ways'>;

// A valid request for each route of the access table.

/** A marker in everything that belongs to the user, to detect it in responses to others. */
export const MARK = 'belongs-to-ada';

/** A request of one route, the same for every caller. */
export interface AccessRequest {
  /** Path and query, without a prefix. */
  path: string;
  headers?: Record<string, string>;
  body?: string;
  /** The status for a caller who has access. */
  answers: number;
  endless?: boolean;
  /** Cleans up. */
  done?(): Promise<unknown>;
}

/** A repository without commits, as something that can be backed up. */
async function makeRepository() {
  const { path: folder, remove } = await temporaryFolder();
  const { path } = await createRepository(join(folder, 'app'));
  return { path, remove };
}

type Make = (world: RequestWorld) => AccessRequest | Promise<AccessRequest>;

const json = (path: string, value: unknown, answers = 200): AccessRequest => ({
  path,
  headers: { 'Content-Type': 'application/json' },
  body: JSON.stringify(value),
  answers,
});

const archive = (rest: string): AccessRequest => ({
  path: `/api/repos/ada/app/archive${rest}`,
  answers: 200,
});

const hello = {
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: {
    protocolVersion: '2024-11-05',
    capabilities: {},
    clientInfo: { name: 'tests', version: '1' },
  },
};
const mcpMessage = (path: string): AccessRequest => ({
  path,
  headers: asMessage,
  body: JSON.stringify(hello),
  answers: 200,
});

/** Requests by the route's method and path. A GET that is not listed needs no input and is answered with 200. */
const requests: Record<string, Make> = {
  'GET /api/backups/:id': () => ({ path: '/api/backups/1', answers: 200 }),
  // It has ended.
  'POST /api/backups/:id/stop': () => ({ path: '/api/backups/1/stop', answers: 409 }),
  'GET /api/repos/:owner/:name': () => ({ path: '/api/repos/ada/app', answers: 200 }),
  'GET /api/repos/:owner/:name/history': () => ({
    path: '/api/repos/ada/app/history',
    answers: 200,
  }),
  'GET /api/repos/:owner/:name/versions': () => ({
    path: '/api/repos/ada/app/versions',
    answers: 200,
  }),
  'GET /api/repos/:owner/:name/versions/:id/refs': () => ({
    path: '/api/repos/ada/app/versions/1/refs',
    answers: 200,
  }),
  'GET /api/repos/:owner/:name/anomalies': () => ({
    path: '/api/repos/ada/app/anomalies',
    answers: 200,
  }),
  'POST /api/anomalies/confirm': () => json('/api/anomalies/confirm', { ids: [1] }),
  'POST /api/incidents/:id/acknowledge': () => ({
    path: '/api/incidents/1/acknowledge',
    answers: 200,
  }),
  'POST /api/repos/forget': () => json('/api/repos/forget', { names: ['ada/app'] }),
  'POST /api/repos/:owner/:name/forget': () => ({
    path: '/api/repos/ada/app/forget',
    answers: 200,
  }),
  'DELETE /api/repos/:owner/:name/forget': () => ({
    path: '/api/repos/ada/app/forget',
    answers: 200,
  }),
  'GET /api/repos/:owner/:name/drills': () => ({
    path: '/api/repos/ada/app/drills',
    answers: 200,
  }),
  'GET /api/evidence': () => ({
    path: '/api/evidence?from=2026-01-01&to=2026-02-01',
    answers: 200,
  }),
  // The drill is signed when its statement is first asked for.
  'GET /api/drills/:id/statement': () => ({ path: '/api/drills/1/statement', answers: 200 }),
  'GET /api/signing-keys/:id': async (world) => ({
    path: `/api/signing-keys/${await makeSigningKey(world)}`,
    answers: 200,
  }),
  'POST /api/objectives': () => json('/api/objectives', newObjective(), 201),
  'PUT /api/objectives/:id': async (world) =>
    json(`/api/objectives/${await makeObjective(world)}`, newObjective()),
  'DELETE /api/objectives/:id': async (world) => ({
    path: `/api/objectives/${await makeObjective(world)}`,
    answers: 200,
  }),
  'POST /api/signing-keys': () => ({ path: '/api/signing-keys', answers: 201 }),
  'GET /api/repos/:owner/:name/stores': () => ({
    path: '/api/repos/ada/app/stores',
    answers: 200,
  }),
  'GET /api/analytics/:id': () => ({ path: '/api/analytics/1', answers: 200 }),
  'GET /api/repos/:owner/:name/archive': () => archive(''),
  'POST /api/repos/:owner/:name/archive/verify': () => archive('/verify'),
  'GET /api/repos/:owner/:name/archive/files': () => archive('/files'),
  'GET /api/repos/:owner/:name/archive/file': () => archive('/file?path=a.txt'),
  'GET /api/repos/:owner/:name/archive/bundle': () => archive('/bundle'),
  'GET /api/repos/:owner/:name/archive/zip': () => archive('/zip'),
  'GET /api/repos/:owner/:name/compare': () => ({
    path: '/api/repos/ada/app/compare',
    answers: 200,
  }),
  'GET /api/repos/:owner/:name/compare/file': () => ({
    path: '/api/repos/ada/app/compare/file?path=a.txt',
    answers: 200,
  }),
  // The restore itself is tried elsewhere.
  'POST /api/restores': () => json('/api/restores', { repository: 'ada/none' }, 404),
  'GET /api/restores/:id': () => ({ path: '/api/restores/1', answers: 200 }),
  'POST /api/restores/:id/cancel': () => ({ path: '/api/restores/1/cancel', answers: 409 }),
  'POST /api/fixes': () => json('/api/fixes', { title: 'Fixed', description: 'It was down.' }, 201),
  // Each caller repeats a request that is already queued, and withdraws their own.
  'POST /api/run-requests': async (world) => {
    await makeRunRequest(world);
    return json('/api/run-requests', { target_repo: 'ada/app' });
  },
  'DELETE /api/run-requests/:id': async (world) => ({
    path: `/api/run-requests/${await makeRunRequest(world)}`,
    answers: 200,
  }),
  'PUT /api/quiet-hours': () => json('/api/quiet-hours', QUIET_HOURS),
  'DELETE /api/quiet-hours': async (world) => {
    await asUser(world, '/api/quiet-hours', QUIET_HOURS, 'PUT');
    return { path: '/api/quiet-hours', answers: 200 };
  },
  'PUT /api/digest': () => json('/api/digest', DIGEST),
  'DELETE /api/digest': async (world) => {
    await asUser(world, '/api/digest', DIGEST, 'PUT');
    return { path: '/api/digest', answers: 200 };
  },
  'POST /api/mutes': () => json('/api/mutes', newMute(), 201),
  'DELETE /api/mutes/:id': async (world) => ({
    path: `/api/mutes/${await makeOne(world, '/api/mutes', newMute())}`,
    answers: 200,
  }),
  'POST /api/maintenance': () => json('/api/maintenance', newWindow(), 201),
  'DELETE /api/maintenance/:id': async (world) => ({
    path: `/api/maintenance/${await makeOne(world, '/api/maintenance', newWindow())}`,
    answers: 200,
  }),
  'POST /api/schedules': () => json('/api/schedules', SCHEDULE, 201),
  'GET /api/schedules/preview': () => ({ path: '/api/schedules/preview?timing=6h', answers: 200 }),
  'PATCH /api/schedules/:id': async (world) =>
    json(`/api/schedules/${await makeOne(world, '/api/schedules', SCHEDULE)}`, { is_paused: true }),
  'DELETE /api/schedules/:id': async (world) => ({
    path: `/api/schedules/${await makeOne(world, '/api/schedules', SCHEDULE)}`,
    answers: 200,
  }),
  'POST /api/sources': async () => {
    const { path, remove } = await makeRepository();
    return { ...json('/api/sources', { addresses: [path] }, 201), done: remove };
  },
  'POST /api/sources/try': async () => {
    const { path, remove } = await makeRepository();
    return { ...json('/api/sources/try', { address: path }), done: remove };
  },
  'PATCH /api/sources/:id': () => json('/api/sources/0', { is_paused: false }),
  'DELETE /api/sources/:id': async (world) => {
    const { path, remove } = await makeRepository();
    const body = JSON.stringify({ addresses: [path] });
    const headers = { 'Content-Type': 'application/json', 'X-Internal-Secret': TEST_SECRET };
    const added = await fetch(`${world.server.url}/api/sources`, { method: 'POST', headers, body });
    const { data } = (await added.json()) as { data: { id: number }[] };
    return { path: `/api/sources/${data[0]?.id}`, answers: 200, done: remove };
  },
  'POST /api/status-page': () => json('/api/status-page', STATUS_PAGE, 201),
  'DELETE /api/status-page/:id': async (world) => ({
    path: `/api/status-page/${await makeOne(world, '/api/status-page', STATUS_PAGE)}`,
    answers: 200,
  }),
  'GET /status/:address': async (world) => {
    const response = await asUser(world, '/api/status-page', STATUS_PAGE);
    const { id, path } = (await response.json()) as { id: number; path: string };
    const done = () => asUser(world, `/api/status-page/${id}`, null, 'DELETE');
    return { path, answers: 200, done };
  },
  'POST /api/badges': () => json('/api/badges', {}, 201),
  'DELETE /api/badges/:id': async (world) => ({
    path: `/api/badges/${(await makeBadge(world)).id}`,
    answers: 200,
  }),
  'GET /badges/:file': async (world) => ({ path: (await makeBadge(world)).svg, answers: 200 }),
  'POST /api/cron/sweep-stale-runs': () => ({ path: '/api/cron/sweep-stale-runs', answers: 200 }),
  'GET /api/logs/:id': () => ({ path: '/api/logs/1', answers: 200 }),
  'GET /api/logs/stream': () => ({ path: '/api/logs/stream', answers: 200, endless: true }),
  'GET /ws/live': () => ({
    path: '/ws/live',
    headers: {
      Upgrade: 'websocket',
      Connection: 'Upgrade',
      'Sec-WebSocket-Key': 'dGhlIHNhbXBsZSBub25jZQ==',
      'Sec-WebSocket-Version': '13',
    },
    answers: 101,
  }),
  'POST /auth/login': () => ({
    path: '/auth/login',
    headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams(ADA).toString(),
    answers: 200,
  }),
  'POST /auth/session': () => json('/auth/session', ADA),
  'DELETE /auth/session': () => ({ path: '/auth/session', answers: 200 }),
  // The stand-in accepts any code; the verifier only has to be long enough.
  'POST /me/gateway/exchange': () =>
    json('/me/gateway/exchange', { code: 'code', code_verifier: 'v'.repeat(43) }),
  'DELETE /me/gateway': () => ({ path: '/me/gateway', answers: 200 }),
  'POST /search': () => json('/search', { query: MARK }),
  // The handler rejects the values: a real generation would affect the other requests.
  'POST /embeddings/switch-model': () =>
    json('/embeddings/switch-model', { model_id: 'none/none' }, 400),
  'POST /embeddings/process-batch': () =>
    json('/embeddings/process-batch', { generation_id: 999 }, 400),
  'POST /embeddings/activate': () => ({
    path: '/embeddings/activate?generation_id=999',
    answers: 404,
  }),
  'POST /embeddings/prune': () => ({ path: '/embeddings/prune', answers: 200 }),
  'POST /chat': async (world) => json('/chat', await question(world)),
  'GET /chat': async (world) => ({
    path: `/chat?${new URLSearchParams(await question(world))}`,
    answers: 200,
  }),
  'POST /chat/stream': async (world) => json('/chat/stream', await question(world)),
  'POST /chat/confirm': confirmation,
  'GET /chat/turns': async (world) => ({
    path: `/chat/turns?session_id=${await makeSession(world)}`,
    answers: 200,
  }),
  'POST /chat/stop': runningTurn,
  'POST /sessions': () => json('/sessions', { session_name: 'another' }, 201),
  'GET /sessions': async (world) => {
    await makeSession(world);
    return { path: '/sessions', answers: 200 };
  },
  'GET /sessions/:id': async (world) => ({
    path: `/sessions/${await makeSession(world)}`,
    answers: 200,
  }),
  'PATCH /sessions/:id': async (world) =>
    json(`/sessions/${await makeSession(world)}`, { session_name: 'renamed' }),
  'DELETE /sessions/:id': async (world) => ({
    path: `/sessions/${await makeSession(world)}`,
    answers: 200,
  }),
  'GET /sessions/:id/messages': async (world) => ({
    path: `/sessions/${await makeSession(world)}/messages`,
    answers: 200,
  }),
  'POST /reports': () => json('/reports', { report_type: 'latest_backup' }, 201),
  'GET /reports': async (world) => {
    await makeReport(world);
    return { path: '/reports', answers: 200 };
  },
  'POST /users': () => json('/users', newUser(), 201),
  'PATCH /users/:name': async (world) =>
    json(`/users/${await makeUser(world)}`, { is_admin: true }),
  'DELETE /users/:name': async (world) => ({
    path: `/users/${await makeUser(world)}`,
    answers: 200,
  }),
  'PUT /users/:name/password': async (world) =>
    json(`/users/${await makeUser(world)}/password`, { password: 'another good password' }),
  'POST /alert-channels': (world) => {
    const channel = newChannel();
    return {
      ...json('/alert-channels', channel, 201),
      // At most 20 channels are allowed.
      done: () => asUser(world, `/alert-channels/${channel.name}`, null, 'DELETE'),
    };
  },
  'DELETE /alert-channels/:name': async (world) => ({
    path: `/alert-channels/${await makeChannel(world)}`,
    answers: 200,
  }),
  'POST /alert-channels/:name/test': async (world) => ({
    path: `/alert-channels/${await makeChannel(world)}/test`,
    answers: 200,
  }),
  'GET /reports/:id': async (world) => ({
    path: `/reports/${await makeReport(world)}`,
    answers: 200,
  }),
  'POST /reports/send': async (world) =>
    json('/reports/send', { report_id: await makeReport(world) }),
  'POST /api/tools/execute': () => json('/api/tools/execute', { name: 'get_dashboard_summary' }),
  'POST /mcp': () => mcpMessage('/mcp'),
  'POST /rpc': () => mcpMessage('/rpc'),
  'POST /': () => mcpMessage('/'),
  'GET /sse': () => ({ path: '/sse', answers: 200, endless: true }),
  'POST /message': openSession,
};

/** The request of a route, by its path without the prefix, with newly created objects. */
export async function makeRequest(
  world: RequestWorld,
  method: string,
  path: string,
): Promise<AccessRequest> {
  const make = requests[`${method} ${path}`];
  if (make) return make(world);
  if (method === 'GET' && !path.includes(':')) return { path, answers: 200 };
  throw new Error(`nothing says how to ask ${method} ${path}`);
}

/** Runs something as the user who owns the objects of the table. */
async function asUser(
  world: RequestWorld,
  path: string,
  value: unknown,
  method = 'POST',
): Promise<Response> {
  const [way] = world.ways.user;
  const headers = { ...way?.headers, 'Content-Type': 'application/json' };
  const body = JSON.stringify(value);
  return fetch(`${world.server.url}${path}`, { method, headers, body });
}

async function makeSession(world: RequestWorld): Promise<string> {
  const id = randomUUID();
  const { status } = await asUser(world, '/sessions', { id, session_name: MARK });
  if (status !== 201) throw new Error(`no session was made: ${status}`);
  return id;
}

const newUser = () => ({ username: `u-${randomUUID()}`, password: 'a good password' });

async function makeUser(world: RequestWorld): Promise<string> {
  const user = newUser();
  const { status } = await asUser(world, '/users', user);
  if (status !== 201) throw new Error(`no user was made: ${status}`);
  return user.username;
}

/** The mail stand-in accepts what is sent to it. */
const newChannel = (name = `c-${randomUUID().slice(0, 8)}`) => ({
  name,
  address: `mailto:${ADDRESSES[0]}`,
});

/** The channel named in requests, which may already exist. */
async function makeChannel(world: RequestWorld): Promise<string> {
  const channel = newChannel(MARK);
  const { status } = await asUser(world, '/alert-channels', channel);
  if (status !== 201 && status !== 409) throw new Error(`no channel was made: ${status}`);
  return channel.name;
}

async function makeReport(world: RequestWorld): Promise<string> {
  const report = { report_type: 'latest_backup', subject: MARK, content_markdown: MARK };
  const response = await asUser(world, '/reports', report);
  const { data } = (await response.json()) as { data: { id: string } };
  return data.id;
}

const newObjective = () => ({ name: randomUUID(), patterns: ['ada/*'], rpo_hours: 24 });

/** The id of an objective. The one before is removed, because there may only be few. */
async function makeObjective(world: RequestWorld): Promise<number> {
  const response = await asUser(world, '/api/objectives', newObjective());
  const { id } = (await response.json()) as { id: number };
  return id;
}

/** The id of a signing key. */
async function makeSigningKey(world: RequestWorld): Promise<string> {
  const response = await asUser(world, '/api/signing-keys', {});
  const { id } = (await response.json()) as { id: string };
  return id;
}

/** The id of a pending request for a run. */
async function makeRunRequest(world: RequestWorld): Promise<number> {
  const response = await asUser(world, '/api/run-requests', { target_repo: 'ada/app' });
  const { id } = (await response.json()) as { id: number };
  return id;
}

const SCHEDULE = { timing: 'daily at 02:30' };

const QUIET_HOURS = { from: '22:00', to: '07:00', time_zone: 'Europe/Berlin' };

const DIGEST = { every: 'daily', at: '08:00', time_zone: 'Europe/Berlin' };

const STATUS_PAGE = { title: 'Status', shows: [{ label: 'All', repositories: ['*'] }] };

const inHours = (hours: number) => new Date(Date.now() + hours * 3_600_000).toISOString();

const newMute = () => ({ scope: 'all', until: inHours(1) });

const newWindow = () => ({ note: 'New disks', starts_at: inHours(1), ends_at: inHours(2) });

/** The id of something that the user makes. */
async function makeOne(world: RequestWorld, path: string, value: unknown): Promise<number> {
  const response = await asUser(world, path, value);
  return ((await response.json()) as { id: number }).id;
}

/** A badge of all repositories. */
async function makeBadge(world: RequestWorld): Promise<{ id: number; svg: string }> {
  const response = await asUser(world, '/api/badges', {});
  return (await response.json()) as { id: number; svg: string };
}

/** A question in one of the user's sessions. The model has an answer for each caller who has access. */
async function question(world: RequestWorld): Promise<{ session_id: string; question: string }> {
  scriptChat(world.gateway, { text: ['Yes.'] }, { text: ['Yes.'] });
  return { session_id: await makeSession(world), question: MARK };
}

/** A tool call of the user's turn that waits for confirmation. */
async function confirmation(world: RequestWorld): Promise<AccessRequest> {
  const args = { subject: MARK, recipients: [ADDRESSES[0]], content_markdown: MARK };
  // By what is asked, because a turn that was confirmed before may still ask how to go on.
  world.gateway.routes.set('/chat/completions', ({ body }, response) => {
    const isAnswered = JSON.stringify(body).includes('"role":"tool"');
    const call = { id: 'mail', name: 'send_report_email', args };
    void say(isAnswered ? { text: ['Done.'] } : { calls: [call] }, response);
  });
  const post = (path: string, value: unknown) => asUser(world, path, value);
  const turn = await askStream({ post }, { question: 'Mail it.' });
  const { confirm_id } = await turn.until('confirm_required');
  return {
    ...json('/chat/confirm', { confirm_id, approve: true }),
    done: () => turn.ended,
  };
}

/** A turn of the user whose model does not answer. */
async function runningTurn(world: RequestWorld): Promise<AccessRequest> {
  scriptChat(world.gateway, { text: ['Half'], instead: 'hang' });
  const session_id = await makeSession(world);
  const post = (path: string, value: unknown) => asUser(world, path, value);
  const asked = { session_id, question: MARK, survives_disconnect: true };
  const turn = await askStream({ post }, asked);
  const { request_id } = await turn.until('info');
  // The model has been called by then, so the turn cannot take an answer meant for another one.
  await turn.until('token');
  return {
    ...json('/chat/stop', { session_id, request_id }),
    async done() {
      // A rejected caller has not stopped the turn.
      await post('/chat/stop', { session_id, request_id });
      await turn.ended;
    },
  };
}

/** A session of the older transport, opened with the token. */
async function openSession({ server, ways }: RequestWorld): Promise<AccessRequest> {
  let address = '';
  const token = ways.mcp[0]?.headers.Authorization?.replace('Bearer ', '');
  const note: typeof fetch = (url, init) => {
    address = String(url);
    return fetch(url, init);
  };
  const client = await connectSse(`${server.url}/sse`, note, token);
  const { pathname, search } = new URL(address);
  return {
    path: `${pathname}${search}`,
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' }),
    answers: 202,
    done: () => client.close(),
  };
}
