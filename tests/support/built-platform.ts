import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import {
  createServer,
  type IncomingMessage,
  type OutgoingHttpHeaders,
  type ServerResponse,
  request as sendRequest,
} from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { extname, join, resolve } from 'node:path';
import { createInterface } from 'node:readline';

const launcher = resolve(import.meta.dirname, 'function-process.ts');

/** A rule of `config.json`. Rules that begin a phase have no `src`. */
interface BuiltRoute {
  src?: string;
  caseSensitive?: boolean;
  dest?: string;
  methods?: string[];
  /** Headers whose whole value must match an expression. */
  has?: { type: 'header'; key: string; value: string }[];
  headers?: Record<string, string>;
  status?: number;
  /** Whether to add its headers and let another route answer. */
  continue?: boolean;
}

/** A stand-in for the platform that runs what `npm run build` wrote. */
export interface BuiltPlatform {
  /** Its address, without a slash at the end. */
  url: string;
  /** What the functions wrote to stderr. */
  errors(): string;
  close(): Promise<void>;
}

/**
 * Serves a folder in the Build Output API format: each function is a process of its own in its own folder, and
 * `config.json` says which one answers a path. `environment` receives the platform's address.
 */
export async function startBuiltPlatform(
  folder: string,
  environment: (url: string) => Record<string, string>,
): Promise<BuiltPlatform> {
  const { routes } = JSON.parse(readFileSync(join(folder, 'config.json'), 'utf8'));
  const functions = new Map<string, { child: ChildProcess; port: number }>();
  let errors = '';

  const portOf = (request: IncomingMessage): number => {
    const { dest } = findRoute(routes, request);
    const found = functions.get(dest);
    if (!found) throw new Error(`no function answers ${request.url}`);
    return found.port;
  };

  const server = createServer((request, response) => {
    const { status, headers: added, dest } = findRoute(routes, request);
    if (status !== undefined) return response.writeHead(status, added).end();
    if (!functions.has(dest)) return serveFile(join(folder, 'static', dest), added, response);
    const { method, url: path } = request;
    const options = { port: portOf(request), method, path, headers: addClientAddress(request) };
    const passed = sendRequest({ host: '127.0.0.1', ...options }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
      response.once('close', () => answer.destroy());
    });
    passed.on('error', () => response.destroy());
    response.once('close', () => passed.destroy());
    request.pipe(passed);
  });
  server.on('upgrade', (request, socket, head) => {
    const passed = connect(portOf(request), '127.0.0.1', () => {
      const lines = Object.entries(addClientAddress(request)).map(
        ([name, value]) => `${name}: ${value}`,
      );
      passed.write([`GET ${request.url} HTTP/1.1`, ...lines, '', ''].join('\r\n'));
      passed.write(head);
      passed.pipe(socket).pipe(passed);
    });
    for (const end of [passed, socket]) {
      end.on('error', () => undefined); // the other end is closed below
      end.on('close', () => {
        passed.destroy();
        socket.destroy();
      });
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

  const destinations = new Set(
    (routes as BuiltRoute[])
      .flatMap(({ dest }) => dest ?? [])
      .filter((dest) => existsSync(join(folder, 'functions', `${dest}.func`))),
  );
  await Promise.all(
    [...destinations].map(async (dest) => {
      const cwd = join(folder, 'functions', `${dest}.func`);
      const { handler } = JSON.parse(readFileSync(join(cwd, '.vc-config.json'), 'utf8'));
      const child = spawn(process.execPath, [launcher, handler], {
        cwd,
        env: { PATH: process.env.PATH, ...environment(url) },
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      child.stderr.on('data', (chunk) => {
        errors += chunk;
      });
      for await (const line of createInterface(child.stdout)) {
        const port = /^port (\d+)$/.exec(line)?.[1];
        if (port === undefined) continue;
        child.stdout.resume();
        functions.set(dest, { child, port: Number(port) });
        return;
      }
      throw new Error(`${dest} ended: ${errors}`);
    }),
  );
  return {
    url,
    errors: () => errors,
    async close() {
      server.closeAllConnections();
      server.close();
      await Promise.all(
        [...functions.values()].map(async ({ child }) => {
          child.kill('SIGKILL');
          if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
        }),
      );
    },
  };
}

/** Applies the routes to a request, in order. */
function findRoute(routes: readonly BuiltRoute[], { url = '/', method, headers }: IncomingMessage) {
  const { pathname } = new URL(url, 'http://localhost');
  const added: Record<string, string> = {};
  for (const route of routes) {
    if (route.src === undefined) continue;
    const found = new RegExp(route.src, route.caseSensitive ? '' : 'i').exec(pathname);
    const { methods = [method], has = [] } = route;
    const matches =
      found !== null &&
      methods.includes(method) &&
      has.every(({ key, value }) => new RegExp(`^${value}$`).test(String(headers[key] ?? '')));
    if (!matches) continue;
    Object.assign(added, route.headers);
    if (route.continue) continue;
    const dest = (route.dest ?? '').replace('$1', found[1] ?? '');
    return { status: route.status, headers: added, dest };
  }
  throw new Error(`no route answers ${pathname}`);
}

const mediaTypes: Record<string, string> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
};

function serveFile(path: string, headers: Record<string, string>, response: ServerResponse): void {
  if (!existsSync(path)) {
    response.writeHead(404).end();
    return;
  }
  const type = mediaTypes[extname(path)] ?? 'application/octet-stream';
  response.writeHead(200, { 'Content-Type': type, ...headers }).end(readFileSync(path));
}

/** The headers of a request as the platform passes them on, with the client's address. */
function addClientAddress({ headers, socket }: IncomingMessage): OutgoingHttpHeaders {
  const { remoteAddress } = socket;
  return { ...headers, 'x-real-ip': remoteAddress, 'x-forwarded-for': remoteAddress };
}
