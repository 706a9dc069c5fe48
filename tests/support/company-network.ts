import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import {
  createServer,
  type IncomingMessage,
  type Server,
  type ServerResponse,
  request as send,
} from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** git sends no credentials before it is asked to. */
const CHALLENGE = 'Basic realm="proxy"';

/** A network whose servers have names that only its proxy can resolve, and certificates of its own authority. */
export interface CompanyNetwork {
  /** The proxy, with credentials that it requires. */
  proxy: string;
  password: string;
  /** A PEM file with the authority. */
  authority: string;
  /** What the proxy was asked for, such as `CONNECT s3.corp.test:443` or `POST http://127.0.0.1:1/x`. */
  asked: string[];
  /** Serves what a server on loopback serves as `https://<name>.corp.test`, and returns this address. */
  publish(name: string, url: string): string;
  close(): Promise<void>;
}

/** Starts an empty network, with its files in `folder`. */
export async function startCompanyNetwork(folder: string): Promise<CompanyNetwork> {
  const { key, cert, authority } = await createCertificates(folder);
  const backends = new Map<string, string>();
  const asked: string[] = [];
  const password = 'proxy-password-of-tests';
  const expected = `Basic ${Buffer.from(`worker:${password}`).toString('base64')}`;
  const sockets = new Set<Socket>();

  const secure = createSecureServer({ key, cert }, (request, response) => {
    const [name = ''] = (request.headers.host ?? '').split(':');
    passOn(request, response, backends.get(name), request.url ?? '/');
  });
  const securePort = await listen(secure);
  const proxy = createServer((request, response) => {
    const { method, url = '', headers } = request;
    asked.push(`${method} ${url}`);
    if (headers['proxy-authorization'] !== expected) {
      response.writeHead(407, { 'proxy-authenticate': CHALLENGE }).end();
      return;
    }
    const { origin, pathname, search } = new URL(url);
    passOn(request, response, origin, `${pathname}${search}`);
  });
  proxy.on('connect', (request, socket: Socket): void => {
    asked.push(`CONNECT ${request.url}`);
    const [name = '', port = ''] = (request.url ?? '').split(':');
    if (request.headers['proxy-authorization'] !== expected) {
      socket.end(
        `HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: ${CHALLENGE}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`,
      );
      return;
    }
    const isHere = /^[\d.]+$/.test(name);
    if (!isHere && !backends.has(name)) {
      socket.end('HTTP/1.1 502 Unknown host\r\n\r\n');
      return;
    }
    const onward = connect(isHere ? Number(port) : securePort, '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
      socket.pipe(onward).pipe(socket);
    });
    for (const one of [socket, onward]) {
      sockets.add(one);
      one.on('error', () => one.destroy());
    }
  });
  const proxyPort = await listen(proxy);
  return {
    ...{ proxy: `http://worker:${password}@127.0.0.1:${proxyPort}`, password, authority, asked },
    publish(name, url) {
      const host = `${name}.corp.test`;
      backends.set(host, url);
      return `https://${host}`;
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      for (const server of [secure, proxy]) {
        server.closeAllConnections();
        server.close();
        await once(server, 'close');
      }
    },
  };
}

function passOn(
  request: IncomingMessage,
  response: ServerResponse,
  origin: string | undefined,
  path: string,
): void {
  if (origin === undefined) return void response.writeHead(502).end();
  const { hostname, port, host } = new URL(origin);
  const { method = 'GET' } = request;
  // The S3 server takes another name for that of a bucket.
  const headers = { ...request.headers, host };
  const onward = send({ hostname, port, method, path, headers }, (answer) => {
    response.writeHead(answer.statusCode ?? 502, answer.headers);
    answer.pipe(response);
  });
  onward.on('error', (error) => response.destroy(error));
  response.on('close', () => onward.destroy());
  request.pipe(onward);
}

async function listen(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

/** An authority, and a certificate of it for every name of the network. */
async function createCertificates(folder: string) {
  const at = (name: string) => join(folder, name);
  await writeFile(at('names'), 'subjectAltName=DNS:*.corp.test\n');
  const made = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout'];
  await run('openssl', [
    ...['req', '-x509', ...made, at('ca.key'), '-out', at('ca.pem'), '-days', '2'],
    ...['-subj', '/CN=Company authority'],
  ]);
  await run('openssl', [
    ...['req', ...made, at('server.key'), '-out', at('server.csr'), '-subj', '/CN=corp.test'],
  ]);
  await run('openssl', [
    ...['x509', '-req', '-in', at('server.csr'), '-CA', at('ca.pem'), '-CAkey', at('ca.key')],
    ...['-CAcreateserial', '-days', '2', '-extfile', at('names'), '-out', at('server.pem')],
  ]);
  return {
    key: await readFile(at('server.key')),
    cert: await readFile(at('server.pem')),
    authority: at('ca.pem'),
  };
}
