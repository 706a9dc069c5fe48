import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import {
  createServer,
  type IncomingMessage,
  type OutgoingHttpHeaders,
  request as sendRequest,
} from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';

const launcher = resolve(import.meta.dirname, 'function-process.ts');

/** A rule of `config.json`; those that begin a phase have no `src`. */
interface BuiltRoute {
  src?: string;
  caseSensitive?: boolean;
  dest?: string;
}

/** A stand-in of the platform that runs what `npm run build` wrote. */
export interface BuiltPlatform {
  /** Where it answers, without a slash at the end. */
  url: string;
  /** What the functions wrote to stderr. */
  errors(): string;
  close(): Promise<void>;
}

/**
 * Serves a folder of the Build Output API: each function is a process of its own in its own folder, and
 * `config.json` says which one answers a path. `environment` is given the platform's address.
 */
export async function startBuiltPlatform(
  folder: string,
  environment: (url: string) => Record<string, string>,
): Promise<BuiltPlatform> {
  const { routes } = JSON.parse(readFileSync(join(folder, 'config.json'), 'utf8'));
  const functions = new Map<string, { child: ChildProcess; port: number }>();
  let errors = '';

  const portOf = ({ url = '/' }: IncomingMessage): number => {
    const { pathname } = new URL(url, 'http://localhost');
    const route = (routes as BuiltRoute[]).find(
      ({ src, caseSensitive }) =>
        src !== undefined && new RegExp(src, caseSensitive ? '' : 'i').test(pathname),
    );
    const found = functions.get(route?.dest ?? '');
    if (!found) throw new Error(`no function answers ${pathname}`);
    return found.port;
  };

  const server = createServer((request, response) => {
    const { method, url: path } = request;
    const options = { port: portOf(request), method, path, headers: tellAddress(request) };
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
      const lines = Object.entries(tellAddress(request)).map(
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

  const destinations = new Set((routes as BuiltRoute[]).flatMap(({ dest }) => dest ?? []));
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

/** The headers of a request as the platform hands them over: it tells the client's address itself. */
function tellAddress({ headers, socket }: IncomingMessage): OutgoingHttpHeaders {
  const { remoteAddress } = socket;
  return { ...headers, 'x-real-ip': remoteAddress, 'x-forwarded-for': remoteAddress };
}
