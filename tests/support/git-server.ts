import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { gunzipSync } from 'node:zlib';

/** A git host on loopback that serves local repositories over git's HTTP protocol. */
export interface GitServer {
  /** `<url>/<owner>/<repo>.git` serves the folder given to `serve`. */
  url: string;
  serve(path: string, folder: string): void;
  /** From now on, answers every request with git's own error packet. */
  refuse(text: string): void;
  /** Holds the next request for objects. `came` resolves when it arrives. */
  holdFetch(): { came: Promise<void>; release(): void };
  /** How many requests arrived for each path. */
  requests: Map<string, number>;
  close(): Promise<void>;
}

/** Starts a git host that answers each request `delayMs` later, like a distant one. */
export async function startGitServer({ delayMs = 0 } = {}): Promise<GitServer> {
  const folders = new Map<string, string>();
  const requests = new Map<string, number>();
  let refusal: string | null = null;
  let hold: { came: () => void; released: Promise<void> } | null = null;

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname } = new URL(request.url ?? '/', 'http://host');
    const [, path = '', service = ''] =
      /^\/(.+?)\/(info\/refs|git-upload-pack)$/.exec(pathname) ?? [];
    const folder = folders.get(path);
    requests.set(path, (requests.get(path) ?? 0) + 1);
    if (delayMs > 0) await delay(delayMs);
    const advertises = service === 'info/refs';
    response.setHeader(
      'Content-Type',
      `application/x-git-upload-pack-${advertises ? 'advertisement' : 'result'}`,
    );
    if (refusal !== null) {
      response.end(`${packet('# service=git-upload-pack\n')}0000${packet(`ERR ${refusal}`)}`);
      return;
    }
    if (folder === undefined) {
      response.writeHead(404).end();
      return;
    }
    const sent = await buffer(request);
    const body = request.headers['content-encoding'] === 'gzip' ? gunzipSync(sent) : sent;
    if (hold !== null && body.includes('want ')) {
      hold.came();
      await hold.released;
    }
    const args = ['upload-pack', '--stateless-rpc', ...(advertises ? ['--advertise-refs'] : [])];
    const protocol = `${request.headers['git-protocol'] ?? ''}`;
    const child = spawn('git', [...args, folder], {
      env: { PATH: process.env.PATH, HOME: '/nonexistent', GIT_PROTOCOL: protocol },
      stdio: ['pipe', 'pipe', 'ignore'],
    });
    if (advertises && protocol === '')
      response.write(`${packet('# service=git-upload-pack\n')}0000`);
    child.stdout.pipe(response);
    // git hangs up once it has what it asked for, and the rest of the request is of no use then.
    child.stdin.on('error', () => child.stdin.destroy()).end(body);
  }

  const server = createServer((request, response) => {
    answer(request, response).catch((error: Error) => response.destroy(error));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    serve: (path, folder) => folders.set(path, folder),
    refuse: (text) => {
      refusal = text;
    },
    holdFetch() {
      const came = Promise.withResolvers<void>();
      const released = Promise.withResolvers<void>();
      hold = { came: came.resolve, released: released.promise };
      return {
        came: came.promise,
        release() {
          hold = null;
          released.resolve();
        },
      };
    },
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

function packet(text: string): string {
  return `${(Buffer.byteLength(text) + 4).toString(16).padStart(4, '0')}${text}`;
}
