import { Agent } from 'node:http';
import { Agent as SecureAgent } from 'node:https';
import { Readable } from 'node:stream';
import { S3Client, type S3ClientConfig } from '@aws-sdk/client-s3';
import { NodeHttpHandler, type NodeHttpHandlerOptions } from '@smithy/node-http-handler';
import type { BucketAddress } from '../../config/stores/store-address.ts';
import { type Proxies, proxyFor } from '../../http/proxies.ts';

const MAX_ATTEMPTS = 6;
const MAX_CONNECTING_MS = 20_000;
const MAX_SOCKETS = 16;
/** An upload at less than this per silence counts as silent. */
const PIECE_BYTES = 256 * 2 ** 10;

interface Connecting {
  proxies: Proxies;
  /** How long no byte may move. */
  maxSilenceMs: number;
}

export interface S3Clients {
  /** For everything except the bodies of objects. */
  client: S3Client;
  /** Reads objects. Who reads a body must watch that it does not fall silent. */
  reader: S3Client;
}

/**
 * Creates the clients of a bucket. A request is tried again once no byte has moved for that long. The timer of a
 * connection also runs while we pause a body ourselves, as a bandwidth limit does, so reading has a client without it.
 */
export function createS3Clients(
  address: BucketAddress,
  { proxies, maxSilenceMs }: Connecting,
): S3Clients {
  const client = createClient(address, createHandler(proxies, { socketTimeout: maxSilenceMs }));
  const reader = createClient(
    address,
    // A request without a body has nothing to send slowly. The timer ends with the headers of the response.
    createHandler(proxies, {
      ...{ socketTimeout: 0, requestTimeout: maxSilenceMs, throwOnRequestTimeout: true },
    }),
    { credentials: () => client.config.credentials() },
  );
  return { client, reader };
}

function createClient(
  { endpoint, region, isPathStyle, profile }: BucketAddress,
  requestHandler: NodeHttpHandler,
  config: Pick<S3ClientConfig, 'credentials'> = {},
): S3Client {
  const client = new S3Client({
    ...(endpoint === null ? {} : { endpoint }),
    // A store at a custom endpoint rarely has regions, but signatures contain one.
    ...(region === null && endpoint === null ? {} : { region: region ?? 'us-east-1' }),
    ...(profile === null ? {} : { profile }),
    ...config,
    forcePathStyle: isPathStyle,
    // A store that names the region of a bucket is asked there.
    followRegionRedirects: true,
    maxAttempts: MAX_ATTEMPTS,
    // Stores other than AWS do not support trailing checksums. Ours are sent with each request.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    requestHandler,
  });
  // The SHA-256 that the store compares also signs the body, which would otherwise be hashed again.
  client.middlewareStack.add(
    (next) => (args) => {
      const { headers } = args.request as { headers: Record<string, string> };
      const sha256 = headers['x-amz-checksum-sha256'];
      if (sha256 !== undefined) {
        headers['x-amz-content-sha256'] = Buffer.from(sha256, 'base64').toString('hex');
      }
      return next(args);
    },
    { step: 'build', name: 'signWithChecksum' },
  );
  // With TLS, the timer of a connection does not see progress within one write, and would cut off a slow upload.
  client.middlewareStack.add(
    (next) => (args) => {
      const { body } = args.request as { body?: unknown };
      if (!Buffer.isBuffer(body)) return next(args);
      const request = { ...(args.request as object), body: Readable.from(piecesOf(body)) };
      return next({ ...args, request });
    },
    // After the decision whether to try again, which needs the whole body.
    { step: 'finalizeRequest', priority: 'low', name: 'sendInPieces' },
  );
  return client;
}

/** Sends each request through the proxy for its host, if any. */
function createHandler(proxies: Proxies, timeouts: NodeHttpHandlerOptions): NodeHttpHandler {
  const create = (proxyEnv: NodeJS.ProcessEnv) => {
    const agent = { maxSockets: MAX_SOCKETS, keepAlive: true, proxyEnv };
    return new NodeHttpHandler({
      ...{ connectionTimeout: MAX_CONNECTING_MS, ...timeouts },
      ...{ httpAgent: new Agent(agent), httpsAgent: new SecureAgent(agent) },
    });
  };
  const direct = create({});
  if (proxies.http === null && proxies.https === null) return direct;
  const proxied = new Map<string, NodeHttpHandler>();
  const send = direct.handle.bind(direct);
  direct.handle = async (request, options) => {
    const { protocol, hostname, port = '' } = request;
    const proxy = proxyFor(proxies, new URL(`${protocol}//${hostname}${port && `:${port}`}`));
    if (proxy === null) return send(request, options);
    if ('fault' in proxy) throw new Error(proxy.fault);
    const { href } = proxy.url;
    const handler = proxied.get(href) ?? create({ HTTP_PROXY: href, HTTPS_PROXY: href });
    proxied.set(href, handler);
    return handler.handle(request, options);
  };
  return direct;
}

function* piecesOf(body: Buffer): Generator<Buffer> {
  for (let at = 0; at < body.length; at += PIECE_BYTES) yield body.subarray(at, at + PIECE_BYTES);
}

/** Secrets that must not appear in a message. */
export async function s3Secrets({ config }: S3Client): Promise<string[]> {
  try {
    const { secretAccessKey, sessionToken = '' } = await config.credentials();
    return [secretAccessKey, sessionToken].filter((secret) => secret !== '');
  } catch {
    // There are no credentials, as the error already says.
    return [];
  }
}
