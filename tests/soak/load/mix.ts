import { asMessage } from '../../support/mcp.ts';

/** One kind of request of the mix. */
export interface LoadRequest {
  name: string;
  /** How many of 200 requests are of this kind. */
  weight: number;
  method: 'GET' | 'POST';
  path: string;
  headers: Record<string, string>;
  body?: string;
}

export interface LoadSecrets {
  internal: string;
  mcp: string;
  user: string;
  username: string;
  password: string;
}

/** The requests of a dashboard, its users and agents, in roughly realistic proportions. */
export function createMix(secrets: LoadSecrets): LoadRequest[] {
  const internal = { 'X-Internal-Secret': secrets.internal };
  const user = { Authorization: `Bearer ${secrets.user}`, 'Content-Type': 'application/json' };
  const mcp = { ...asMessage, Authorization: `Bearer ${secrets.mcp}` };
  const call = (name: string, args: object) =>
    JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name, arguments: args },
    });
  const read = (weight: number, path: string): LoadRequest => ({
    name: `GET ${path}`,
    weight,
    method: 'GET',
    path,
    headers: internal,
  });
  const post = (
    weight: number,
    path: string,
    headers: Record<string, string>,
    body: string,
    name = '',
  ): LoadRequest => ({ name: `POST ${path}${name}`, weight, method: 'POST', path, headers, body });
  return [
    read(35, '/api/backups'),
    read(15, '/api/backups/7'),
    read(25, '/api/repos'),
    read(25, '/api/logs?level=error'),
    read(25, '/api/dashboard/stats'),
    read(10, '/api/metrics?days=7'),
    read(10, '/api/analytics/latest'),
    read(12, '/api/logs/stream'),
    post(16, '/search', user, JSON.stringify({ query: 'timeout of repository-7' })),
    post(13, '/mcp', mcp, call('list_backup_runs', { limit: 20 }), ' list_backup_runs'),
    post(13, '/mcp', mcp, call('get_execution_logs', { limit: 20 }), ' get_execution_logs'),
    post(
      1,
      '/auth/login',
      { 'Content-Type': 'application/x-www-form-urlencoded' },
      new URLSearchParams({ username: secrets.username, password: secrets.password }).toString(),
    ),
  ];
}
