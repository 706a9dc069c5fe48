import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { Context } from 'hono';
import { accepts } from 'hono/accepts';
import { loadOnce } from '../async.ts';
import type { HttpEnv } from './env.ts';

/** Sends an answer that is the same for everybody. */
export type SendStatic = (c: Context<HttpEnv>) => Promise<Response>;

/**
 * Prepares an answer that never changes while the process runs. It is loaded, encoded, compressed and hashed once, for
 * the first request. A client that has it already gets 304.
 */
export function staticAnswer(
  load: () => Promise<string>,
  headers: Readonly<Record<string, string>>,
): SendStatic {
  const prepare = loadOnce(async () => {
    const plain = new TextEncoder().encode(await load());
    const gzipped = new Uint8Array(await promisify(gzip)(plain));
    const hash = createHash('sha256').update(plain).digest('base64url');
    // Weak, because both encodings share it.
    return { plain, gzipped, etag: `W/"${hash}"` };
  });
  return async (c) => {
    const { plain, gzipped, etag } = await prepare();
    const common = {
      'Cache-Control': 'no-cache',
      ...headers,
      ETag: etag,
      Vary: 'Accept-Encoding',
    };
    if (matches(c.req.header('if-none-match'), etag)) return c.body(null, 304, common);
    const encoding = accepts(c, {
      header: 'Accept-Encoding',
      supports: ['gzip', 'identity'],
      default: 'identity',
    });
    if (encoding !== 'gzip') return c.body(plain, 200, common);
    // Without the option, workerd would compress it again.
    const init = { headers: { ...common, 'Content-Encoding': 'gzip' }, encodeBody: 'manual' };
    return new Response(gzipped, init);
  };
}

/** Compares weakly: as a list of tags, or `*` for any. */
function matches(given: string | undefined, etag: string): boolean {
  if (given === undefined) return false;
  if (given.trim() === '*') return true;
  const opaque = etag.replace(/^W\//, '');
  return given.split(',').some((tag) => tag.trim().replace(/^W\//, '') === opaque);
}
