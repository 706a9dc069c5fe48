import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import S3rver, { type ListOptions } from '@20minutes/s3rver';
import { afterAll, beforeAll, vi } from 'vitest';
import { temporaryFolder } from './folders.ts';
import { latest } from './hooks.ts';
import { createAnswering, type S3Answer, type S3Target } from './s3-answers.ts';

const BUCKET = 'backups';

/** A request to the server. */
export interface S3Request extends S3Target {
  /** Counts from 1. */
  number: number;
  headers: IncomingHttpHeaders;
}

/**
 * What happens to a request: the connection is cut before it is read, it is handled and its answer lost, nothing is
 * answered and the connection stays open, only the first half of an answer comes, or it is refused with a status and a
 * code.
 */
export type S3Fault =
  | 'cut'
  | 'answer lost'
  | 'silent'
  | 'silent halfway'
  | { status: number; code: string };

export interface S3Server {
  /** An address for BACKUP_STORES. */
  address(prefix: string, parameters?: string): string;
  /** Variables with its credentials. */
  env: Record<string, string>;
  /** All requests since the last call. */
  takeRequests(): S3Request[];
  /** Decides which requests fail from now on; null for none. */
  fail(decide: ((request: S3Request) => S3Fault | undefined) | null): void;
  /** Decides how uploads are answered from now on; null for s3rver's own answers. */
  answer(decide: ((request: S3Request) => S3Answer | undefined) | null): void;
  /** Whether an object exists. */
  has(key: string): boolean;
  /** The folder in which the bucket's objects are files; their names get a suffix. */
  folder: string;
  close(): Promise<void>;
}

/** One server for all tests of a file, with its credentials in the environment. */
export function useS3Server(): S3Server {
  let server: S3Server;
  beforeAll(async () => {
    server = await startS3Server();
    for (const [name, value] of Object.entries(server.env)) vi.stubEnv(name, value);
  });
  afterAll(async () => {
    vi.unstubAllEnvs();
    await server.close();
  });
  return latest(() => server);
}

/**
 * Starts s3rver, a server of the S3 protocol that keeps objects in files. It differs from S3 in that it ignores
 * `If-None-Match` on writes, which is added here, that it lists no folder that has only folders, which is corrected
 * here, that it neither checks nor reports SHA-256, which can be added, that the ETag of an object in parts is its MD5,
 * and that it cannot list or abort multipart uploads.
 */
export async function startS3Server(): Promise<S3Server> {
  const { path: directory, remove } = await temporaryFolder();
  const app = new S3rver({
    directory,
    silent: true,
    // It signs a path that ends in a slash differently than AWS.
    allowMismatchedSignatures: true,
    configureBuckets: [{ name: BUCKET, configs: [] }],
  });
  listFolders(app);
  await app.configureBuckets();
  const handle = app.callback();
  let requests: S3Request[] = [];
  let total = 0;
  let decide: ((request: S3Request) => S3Fault | undefined) | null = null;
  const writing = new Set<string>();
  const answering = createAnswering<S3Request>(join(directory, BUCKET));

  const server = createServer((req, res) => {
    const url = new URL(req.url ?? '/', 'http://host');
    const key = decodeURIComponent(url.pathname).split('/').slice(2).join('/');
    const { method = '', headers } = req;
    const request = { method, key, query: url.searchParams, number: ++total, headers };
    requests.push(request);
    const fault = decide?.(request);
    if (fault === 'cut') return void req.socket.destroy();
    if (fault === 'silent') return;
    if (fault === 'answer lost') return void dropResponse(req, res, handle);
    if (fault === 'silent halfway') halve(res);
    else if (fault !== undefined) return refuse(req, res, fault);
    answering.prepare(request, res);
    void handleConditionally(req, res, key);
  });

  async function handleConditionally(req: IncomingMessage, res: ServerResponse, key: string) {
    if (req.headers['if-none-match'] !== '*' || req.method === 'GET') return handle(req, res);
    // Only one writer of a key at a time, and the first one wins.
    const taken = { status: 412, code: 'PreconditionFailed' };
    if (writing.has(key)) return refuse(req, res, taken);
    writing.add(key);
    res.once('close', () => writing.delete(key));
    if (await app.store.existsObject(BUCKET, key)) return refuse(req, res, taken);
    return handle(req, res);
  }

  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const { port } = server.address() as AddressInfo;
  return {
    address: (prefix, parameters = '') =>
      `s3://${BUCKET}/${prefix}?endpoint=http://127.0.0.1:${port}&path-style=yes${parameters}`,
    env: { AWS_ACCESS_KEY_ID: 'S3RVER', AWS_SECRET_ACCESS_KEY: 'S3RVER' },
    takeRequests() {
      const taken = requests;
      requests = [];
      return taken;
    },
    fail(next) {
      decide = next;
    },
    answer: answering.decide,
    has: answering.has,
    folder: join(directory, BUCKET),
    async close() {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
      app.logger.close();
      await remove();
    },
  };
}

/** Makes a listing with a delimiter show every folder. It is never cut off. */
function listFolders({ store }: S3rver): void {
  const list = store.listObjects.bind(store);
  store.listObjects = async (bucket, options: ListOptions) => {
    const { delimiter, prefix = '' } = options;
    if (delimiter === undefined) return list(bucket, options);
    const { objects } = await list(bucket, { ...options, delimiter: '', maxKeys: Infinity });
    const endOf = (key: string) => key.indexOf(delimiter, prefix.length);
    const inFolders = objects.filter(({ key }) => endOf(key) !== -1);
    const folders = inFolders.map(({ key }) => key.slice(0, endOf(key) + delimiter.length));
    return {
      objects: objects.filter((object) => !inFolders.includes(object)),
      commonPrefixes: [...new Set(folders)],
      isTruncated: false,
    };
  };
}

function refuse(
  req: IncomingMessage,
  res: ServerResponse,
  { status, code }: { status: number; code: string },
) {
  req.resume();
  req.once('end', () => {
    res.writeHead(status, { 'content-type': 'application/xml' });
    res.end(`<?xml version="1.0"?><Error><Code>${code}</Code><Message>${code}</Message></Error>`);
  });
}

/** Lets the first half of the first piece of a body pass, and nothing after it. */
function halve(res: ServerResponse) {
  const write = res.write.bind(res);
  let isSilent = false;
  const cut = (piece: unknown) => {
    if (isSilent || !(typeof piece === 'string' || piece instanceof Uint8Array)) return true;
    isSilent = true;
    return write(piece.slice(0, Math.floor(piece.length / 2)));
  };
  res.write = cut as typeof res.write;
  res.end = ((piece: unknown) => {
    cut(piece);
    return res;
  }) as typeof res.end;
}

function dropResponse(
  req: IncomingMessage,
  res: ServerResponse,
  handle: (req: IncomingMessage, res: ServerResponse) => unknown,
) {
  res.writeHead = () => res;
  res.write = () => true;
  res.end = () => {
    req.socket.destroy();
    return res;
  };
  return handle(req, res);
}
