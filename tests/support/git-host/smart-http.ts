import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { Readable } from 'node:stream';
import type { Context, Hono } from 'hono';
import { findGrant, type GitHostState } from './state.ts';

/** Serves the host's repositories over git's HTTP protocol with git's own `git http-backend`. */
export interface SmartHttp {
  /** Every request, with its Authorization header. */
  requests: { path: string; authorization: string | null }[];
  /** Replaces the usual answer for repositories, by their full names. */
  answers: Map<string, (c: Context) => Response | Promise<Response>>;
  /** The usual answer to a request. */
  serve(c: Context): Promise<Response>;
}

/**
 * Serves `<folder>/<owner>/<name>.git`. A private repository is shown only with a token of the host, and only a token
 * may push, as on the real host. Takes `x-access-token:<token>` as basic credentials.
 */
export function serveSmartHttp(app: Hono, state: GitHostState, folder: string): SmartHttp {
  const nameOf = (c: Context) => {
    const { owner, file = '' } = c.req.param();
    return `${owner}/${file.slice(0, -'.git'.length)}`;
  };
  const served: SmartHttp = {
    requests: [],
    answers: new Map(),
    async serve(c) {
      const authorization = c.req.header('authorization') ?? null;
      const grant = findGrant(state, toBearer(authorization));
      const repository = state.repositories.get(nameOf(c));
      const pushes = c.req.url.includes('git-receive-pack');
      if (authorization !== null && !grant) return unauthorized();
      if (grant === null && (pushes || repository?.private)) return unauthorized();
      if (repository === undefined) return new Response('not found', { status: 404 });
      return callBackend(c, folder, grant?.login ?? null);
    },
  };
  app.all('/:owner/:file{.+\\.git}/*', async (c) => {
    served.requests.push({
      path: c.req.path,
      authorization: c.req.header('authorization') ?? null,
    });
    const answer = served.answers.get(nameOf(c)) ?? served.serve;
    return answer(c);
  });
  return served;
}

function unauthorized(): Response {
  return new Response('no', { status: 401, headers: { 'www-authenticate': 'Basic realm="git"' } });
}

function toBearer(authorization: string | null): string | null {
  const [, encoded] = /^Basic (.+)$/.exec(authorization ?? '') ?? [];
  if (encoded === undefined) return authorization;
  const [user, token] = Buffer.from(encoded, 'base64').toString().split(':');
  return user === 'x-access-token' ? `Bearer ${token}` : null;
}

async function callBackend(c: Context, folder: string, login: string | null): Promise<Response> {
  const url = new URL(c.req.url);
  const child = spawn('git', ['http-backend'], {
    env: {
      PATH: process.env.PATH,
      HOME: '/nonexistent',
      GIT_PROJECT_ROOT: folder,
      GIT_HTTP_EXPORT_ALL: '1',
      GIT_CONFIG_COUNT: '2',
      GIT_CONFIG_KEY_0: 'uploadpack.allowFilter',
      GIT_CONFIG_VALUE_0: 'true',
      GIT_CONFIG_KEY_1: 'safe.directory',
      GIT_CONFIG_VALUE_1: '*',
      PATH_INFO: url.pathname,
      QUERY_STRING: url.search.slice(1),
      REQUEST_METHOD: c.req.method,
      CONTENT_TYPE: c.req.header('content-type') ?? '',
      HTTP_CONTENT_ENCODING: c.req.header('content-encoding') ?? '',
      GIT_PROTOCOL: c.req.header('git-protocol') ?? '',
      ...(login === null ? {} : { REMOTE_USER: login }),
    },
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  // git hangs up once it has what it asked for, and the rest of the request is of no use then.
  child.stdin.on('error', () => child.stdin.destroy());
  if (c.req.raw.body) Readable.fromWeb(c.req.raw.body as never).pipe(child.stdin);
  else child.stdin.end();
  return readAnswer(child.stdout);
}

/** Parses the output of a CGI program: header lines, an empty one, the body. */
async function readAnswer(output: Readable): Promise<Response> {
  let read = Buffer.alloc(0);
  let end = -1;
  while (end < 0) {
    const chunk: Buffer | null = output.read();
    if (chunk === null) {
      if (output.readableEnded) throw new Error('git http-backend gave no answer');
      await Promise.race([once(output, 'readable'), once(output, 'end')]);
      continue;
    }
    read = Buffer.concat([read, chunk]);
    end = read.indexOf('\r\n\r\n');
  }
  output.unshift(read.subarray(end + 4));
  const headers = new Headers();
  let status = 200;
  for (const line of read.subarray(0, end).toString().split('\r\n')) {
    const at = line.indexOf(':');
    const [name, value] = [line.slice(0, at), line.slice(at + 1).trim()];
    if (name.toLowerCase() === 'status') status = Number.parseInt(value, 10);
    else headers.append(name, value);
  }
  // Unlike that of `toWeb`, this stream can be cancelled while git still writes: its client may have been ended.
  return new Response(ReadableStream.from(output) as never, { status, headers });
}
