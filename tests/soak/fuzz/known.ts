import fc from 'fast-check';
import { ADDRESSES } from '../../support/mail.ts';
import { asMessage } from '../../support/mcp.ts';
import type { KnownValues } from './from-schema.ts';
import type { Operation } from './operations.ts';
import type { FuzzRequest } from './requests.ts';
import { ANOMALIES, BADGE_TOKEN, INCIDENTS, RUNS, USER } from './world.ts';

/** Placeholders in a generated request for values that are known only when it is sent. */
const places = {
  generation: '__generation__',
  report: '__report__',
  confirmation: '__confirmation__',
  sseSession: '__sse_session__',
  runRequest: '__run_request__',
  badge: '__badge__',
} as const;

/** The current values of the placeholders. */
export type Placed = Record<keyof typeof places, string>;

/** Replaces the placeholders. A generation is a number, so in JSON the quotes are removed. */
export function place(request: FuzzRequest, placed: Placed): FuzzRequest {
  const put = (text: string) => {
    let result = text.replaceAll(`"${places.generation}"`, placed.generation);
    for (const name of Object.keys(places) as (keyof Placed)[]) {
      result = result.replaceAll(places[name], placed[name]);
    }
    return result;
  };
  return {
    ...request,
    target: put(request.target),
    body: request.body === null ? null : put(request.body),
  };
}

/** There are few sessions, so that they are created, used and deleted again and again. */
const sessionIds = Array.from(
  { length: 12 },
  (_, index) => `5e551075-0000-4000-8000-${String(index).padStart(12, '0')}`,
);

const session = fc.constantFrom(...sessionIds);
const run = fc.integer({ min: 1, max: RUNS });
const log = fc.integer({ min: 0, max: 160 });
const owner = fc.constantFrom('acme', 'ACME', 'nobody');
const channelName = fc.constantFrom('team', 'Team', 'night', 'none');
const repository = fc.constantFrom('repository-1', 'Repository-2', 'none', 'a/b');

/** The repository of the archive, in the path of an operation. */
const archiveOf = (path: string) => ({
  [`${path}#owner`]: fc.constant('acme'),
  [`${path}#name`]: fc.constantFrom('widgets', 'widgets', 'none'),
});

const values: Record<string, fc.Arbitrary<unknown>> = {
  '/api/backups/{id}#id': run,
  '/api/analytics/{id}#id': run,
  '/api/incidents/{id}/acknowledge#id': fc.integer({ min: 1, max: INCIDENTS }),
  rule: fc.constantFrom('run_failed', 'repository_failing'),
  '/api/repos/{owner}/{name}#owner': owner,
  '/api/repos/{owner}/{name}#name': repository,
  '/api/repos/{owner}/{name}/forget#owner': owner,
  '/api/repos/{owner}/{name}/forget#name': repository,
  'names[]': fc.constantFrom('acme/repository-1', 'ACME/repository-2', 'nobody/none'),
  'nothing_kept[]': fc.constantFrom('acme/repository-1', 'nobody/none'),
  '/api/repos/{owner}/{name}/history#owner': owner,
  '/api/repos/{owner}/{name}/history#name': repository,
  '/api/repos/{owner}/{name}/versions#owner': owner,
  '/api/repos/{owner}/{name}/versions#name': repository,
  '/api/repos/{owner}/{name}/versions/{id}/refs#owner': owner,
  '/api/repos/{owner}/{name}/versions/{id}/refs#name': repository,
  '/api/repos/{owner}/{name}/versions/{id}/refs#id': fc.integer({ min: 1, max: 6 }),
  '/api/mutes/{id}#id': fc.integer({ min: 1, max: 8 }),
  '/api/maintenance/{id}#id': fc.integer({ min: 1, max: 8 }),
  '/api/schedules/{id}#id': fc.integer({ min: 1, max: 8 }),
  timing: fc.constantFrom('6h', 'daily at 02:30'),
  time_zone: fc.constantFrom('Europe/Berlin', 'UTC'),
  '/sessions/{id}#id': session,
  '/sessions/{id}/messages#id': session,
  '/reports/{id}#id': fc.constant(places.report),
  '/users/{name}#name': fc.constantFrom('grace', 'mary', 'linus'),
  '/users/{name}/password#name': fc.constantFrom('grace', 'mary', 'linus'),
  '/alert-channels/{name}#name': channelName,
  '/alert-channels/{name}/test#name': channelName,
  '/api/run-requests/{id}#id': fc.constant(places.runRequest),
  '/api/badges/{id}#id': fc.constant(places.badge),
  '/badges/{file}#file': fc.constantFrom(`${BADGE_TOKEN}.svg`, `${BADGE_TOKEN}.json`),
  ...archiveOf('/api/repos/{owner}/{name}/archive'),
  ...archiveOf('/api/repos/{owner}/{name}/archive/verify'),
  ...archiveOf('/api/repos/{owner}/{name}/archive/files'),
  ...archiveOf('/api/repos/{owner}/{name}/archive/file'),
  ...archiveOf('/api/repos/{owner}/{name}/archive/zip'),
  ...archiveOf('/api/repos/{owner}/{name}/archive/bundle'),
  ...archiveOf('/api/repos/{owner}/{name}/compare'),
  ...archiveOf('/api/repos/{owner}/{name}/compare/file'),
  path: fc.constantFrom('README.md', 'src/token.txt', 'secrets.bin', 'none'),
  cursor: fc.constantFrom('0', '1', '3'),
  id: session,
  session_id: session,
  run_id: run,
  after_id: log,
  'last-event-id': log,
  before_id: log,
  report_id: fc.constant(places.report),
  confirm_id: fc.constant(places.confirmation),
  generation_id: fc.constant(places.generation),
  sessionId: fc.constant(places.sseSession),
  username: fc.constant(USER.username),
  password: fc.constant(USER.password),
  model_id: fc.constantFrom('local/hashing-384', 'acme/embed-free'),
  rerank_model_id: fc.constantFrom('acme/rerank-free', null),
  model: fc.constantFrom('acme/chat-free', 'acme/chat-paid', null),
  report_type: fc.constantFrom('latest_backup', 'executive_summary', 'failure_investigation'),
  'ids[]': fc.integer({ min: 1, max: ANOMALIES }),
  'recipients[]': fc.constantFrom(...ADDRESSES),
  name: fc.constantFrom('list_backup_runs', 'get_execution_logs', 'get_dashboard_summary'),
  args: fc.constantFrom({}, { limit: 3 }, { page: '2' }),
  level: fc.constantFrom('info', 'WARN', 'Error', 'debug'),
  approve: fc.boolean(),
  repo_name: fc.constantFrom('acme/widgets', 'acme/widgets', 'acme/none'),
  file_path: fc.constantFrom('README.md', 'src/token.txt', 'secrets.bin', 'none'),
  repository: fc.constantFrom('acme/widgets', 'acme/repository-1'),
  target_repo: fc.constantFrom('acme/widgets', 'acme/gadgets'),
  affected_run_id: run,
  status: fc.constantFrom('completed', 'failed', 'running'),
  has_failures: fc.boolean(),
  pruned: fc.boolean(),
  before: fc.integer({ min: 1, max: 6 }),
  prefix: fc.constantFrom('refs/heads/', 'refs/tags/'),
  after: fc.constantFrom('HEAD', 'refs/heads/main'),
  state: fc.constantFrom('good', 'stale', 'failing', 'never', 'open', 'resolved'),
  order: fc.constantFrom('size', 'name', 'newest', 'worst'),
  text: fc.constantFrom('acme', 'REPOSITORY-1', 'timeout', 'clone failed'),
  from: fc.constantFrom('2020-01-01', '2026-01-31T08:15:00Z'),
  to: fc.constantFrom('2100-01-01', '2026-06-30T23:59:59.123456+02:00'),
};

/** Existing values for fields by name. */
export const known: KnownValues = (field) => values[field] ?? null;

const message = (method: string, params: object) => ({ jsonrpc: '2.0', id: 1, method, params });
const initialize = message('initialize', {
  protocolVersion: '2024-11-05',
  capabilities: {},
  clientInfo: { name: 'fuzz', version: '1' },
});
/** There are few users, so that they are added, used and removed again and again. */
const userName = fc.constantFrom('grace', 'mary', 'linus');
const newUsers = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({ username: userName, password: fc.constant(USER.password) }),
  },
  { weight: 1, arbitrary: fc.record({ username: fc.string(), password: fc.string() }) },
);

/** Nothing listens at these addresses, and some are invalid. */
const newChannels = fc.record({
  name: channelName,
  address: fc.constantFrom(
    'ntfy+http://127.0.0.1:1/backups',
    'gotify+http://localhost:1/AtokenOfTheFuzz',
    'ntfy://169.254.169.254/x',
    'slack://none',
  ),
});

const messages = fc.constantFrom<unknown>(
  initialize,
  message('ping', {}),
  message('tools/list', {}),
  message('resources/list', {}),
  message('resources/templates/list', {}),
  message('prompts/list', {}),
  message('resources/read', { uri: 'backup://system/health' }),
  message('resources/read', { uri: 'backup://none' }),
  message('prompts/get', { name: 'audit-backup-health' }),
  message('prompts/get', { name: '__proto__' }),
  message('tools/call', { name: 'get_dashboard_summary' }),
  message('tools/call', { name: 'constructor', arguments: {} }),
  message('tools/call', { name: 'list_backup_runs', arguments: [] }),
  message('completion/complete', {}),
  { jsonrpc: '2.0', method: 'notifications/initialized' },
  { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } },
  { jsonrpc: '2.0', id: 7, result: {} },
);

const handshake = {
  Connection: 'Upgrade',
  Upgrade: 'websocket',
  'Sec-WebSocket-Version': '13',
  'Sec-WebSocket-Key': 'dGhlIHNhbXBsZSBub25jZQ==',
};

/** Headers that the MCP server and the WebSocket need besides a credential. */
export function knownHeaders({ schemes, path }: Operation): fc.Arbitrary<Record<string, string>> {
  if (schemes.includes('McpBearer')) return fc.constant({ Accept: asMessage.Accept });
  return path === '/ws/live' ? fc.constantFrom(handshake, handshake, {}) : fc.constant({});
}

const inHours = (hours: number) => new Date(Date.now() + hours * 3_600_000).toISOString();

/** Bodies by path whose times and zones would hardly ever be valid. */
const newSettings: Record<string, unknown> = {
  '/api/quiet-hours': { from: '22:00', to: '07:00', time_zone: 'Europe/Berlin' },
  '/api/digest': { every: 'daily', at: '08:00', time_zone: 'Europe/Berlin' },
  '/api/mutes': { scope: 'all', until: inHours(5) },
  '/api/maintenance': { note: 'New disks', starts_at: inHours(5), ends_at: inHours(6) },
  '/api/schedules': { timing: 'daily at 02:30' },
  '/api/schedules/{id}': { is_paused: true },
};

/**
 * Messages of the protocol where the body is one, which its loose schema would hardly ever produce; new users,
 * channels and settings.
 */
export function knownBody({ schemes, body, path }: Operation): fc.Arbitrary<unknown> | null {
  if (body !== null && path === '/users') return newUsers;
  if (body !== null && path === '/alert-channels') return newChannels;
  const settings = body === null ? undefined : newSettings[path];
  if (settings !== undefined) return fc.constant(settings);
  if (body === null || !schemes.includes('McpBearer')) return null;
  if (path === '/message') return messages;
  return fc.oneof(
    { weight: 6, arbitrary: messages },
    { weight: 1, arbitrary: fc.array(messages, { maxLength: 4 }) },
    { weight: 1, arbitrary: fc.jsonValue() },
  );
}
