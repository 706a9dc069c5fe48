import { createHash, randomBytes } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';

/** What a request asks for. */
export interface S3Target {
  method: string;
  /** The key of the object; empty for the bucket. */
  key: string;
  query: URLSearchParams;
}

/** How a store answers an upload, or a HEAD request. */
export interface S3Answer {
  /** The SHA-256 that it reports; none by default. */
  sha256?: 'right' | 'wrong';
  /** Whether the ETag only looks like an MD5, as that of a store that encrypts with keys of its own. */
  hasOtherTag?: boolean;
  /** Whether it keeps other bytes than it received. */
  isDamaging?: boolean;
}

type Decide<Request> = (request: Request) => S3Answer | undefined;

/** Changes the answers of s3rver, which keeps objects and parts as files in the folder of the bucket. */
export function createAnswering<Request extends S3Target>(folder: string) {
  let decide: Decide<Request> | null = null;
  const ofParts = new Map<string, Map<number, Buffer>>();
  const ofObjects = new Map<string, string>();
  const pathOf = ({ key, query }: S3Target) =>
    query.has('uploadId')
      ? join(folder, '._S3rver_uploads', query.get('uploadId') ?? '', query.get('partNumber') ?? '')
      : `${join(folder, key)}._S3rver_object`;

  function answerPut(request: S3Target, res: ServerResponse, answer: S3Answer): void {
    const bytes = readFileSync(pathOf(request));
    if (answer.isDamaging) {
      bytes[0] = (bytes[0] ?? 0) ^ 1;
      writeFileSync(pathOf(request), bytes);
    }
    const sha256 = createHash('sha256').update(bytes).digest();
    const upload = request.query.get('uploadId');
    if (upload === null) ofObjects.set(request.key, sha256.toString('base64'));
    else {
      const parts = ofParts.get(upload) ?? new Map<number, Buffer>();
      ofParts.set(upload, parts.set(Number(request.query.get('partNumber')), sha256));
    }
    if (answer.hasOtherTag) res.setHeader('etag', `"${randomBytes(16).toString('hex')}"`);
    const reported = answer.sha256 === 'wrong' ? randomBytes(32) : sha256;
    if (answer.sha256 !== undefined) {
      res.setHeader('x-amz-checksum-sha256', reported.toString('base64'));
    }
  }

  /** Adds the hash of the parts' hashes. */
  function answerComplete({ key, query }: S3Target, body: string, { sha256 }: S3Answer): string {
    const parts = [...(ofParts.get(query.get('uploadId') ?? '') ?? [])].sort(([a], [b]) => a - b);
    const hash = createHash('sha256').update(Buffer.concat(parts.map(([, part]) => part)));
    const right = `${hash.digest('base64')}-${parts.length}`;
    ofObjects.set(key, right);
    if (sha256 === undefined) return body;
    const reported = sha256 === 'wrong' ? `${randomBytes(32).toString('base64')}-1` : right;
    const end = '</CompleteMultipartUploadResult>';
    return body.replace(end, `<ChecksumSHA256>${reported}</ChecksumSHA256>${end}`);
  }

  function answerHead({ key }: S3Target, res: ServerResponse, { sha256 }: S3Answer): void {
    const right = ofObjects.get(key);
    if (sha256 === undefined || right === undefined) return;
    const reported = sha256 === 'wrong' ? randomBytes(32).toString('base64') : right;
    res.setHeader('x-amz-checksum-sha256', reported);
  }

  return {
    decide(next: Decide<Request> | null): void {
      decide = next;
    },
    has: (key: string) => existsSync(`${join(folder, key)}._S3rver_object`),
    /** Changes the answer to a request, if it has to. */
    prepare(request: Request, res: ServerResponse): void {
      const answer = decide?.(request);
      if (answer === undefined || request.method === 'GET') return;
      const end = res.end.bind(res) as (body: unknown) => ServerResponse;
      res.end = ((body: unknown) => {
        if (res.statusCode !== 200) return end(body);
        if (request.method === 'PUT') answerPut(request, res, answer);
        if (request.method === 'HEAD') answerHead(request, res, answer);
        if (request.method !== 'POST' || !request.query.has('uploadId')) return end(body);
        const text = answerComplete(request, String(body), answer);
        res.setHeader('content-length', Buffer.byteLength(text));
        return end(text);
      }) as typeof res.end;
    },
  };
}
