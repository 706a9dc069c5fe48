import type { Context } from 'hono';
import * as z from 'zod';
import type { ArchiveCall } from '../../archives/archive-access.ts';
import { archiveLimits } from '../../archives/base/limits.ts';
import { AppError } from '../../errors.ts';
import type { HttpEnv } from '../../http/env.ts';
import { plainError } from '../../http/error-shapes.ts';
import { type Endpoint, endpoint, type RouteResponse } from '../../http/route.ts';
import type { ServedArchives } from '../base/archives-deps.ts';
import type { BackupsDeps } from '../base/backups-deps.ts';
import { pageInput } from '../base/input.ts';
import { downloadHeaders } from './downloads.ts';
import { archiveCheck, archiveFacts, archiveFiles } from './shapes.ts';

const BASE = '/api/repos/:owner/:name/archive';

/** The longest part of a name, with the time at which its archive was set aside. */
const MAX_PART_LENGTH = 280;

const part = (description: string) =>
  z
    .string()
    .max(MAX_PART_LENGTH)
    .regex(/^(?!\.{1,2}$)[^/\\\p{Cc}]+$/u, 'must be a name')
    .meta({ description });

const repositoryInput = z.object({
  owner: part('The part of the name before the slash.'),
  name: part('The part of the name after the slash.'),
});

const path = z
  .string('must be given once')
  .max(4096)
  .refine((text) => !text.includes('\0'), 'must not contain NUL');

const failed = (description: string): RouteResponse => ({ description, schema: plainError });
const download = (description: string): RouteResponse => ({
  description,
  contentType: 'application/octet-stream',
});

const common = { tag: 'Archives', access: 'identified', params: repositoryInput } as const;
const missing = { 404: failed('There is no archive of this repository.') };
const unreadable = {
  409: failed('The archive is damaged; the message starts with what is wrong.'),
  413: failed('The archive is too large to be read here.'),
};

/** GET /api/repos/:owner/:name/archive, …/files, …/file and …/bundle; POST …/verify. */
export const archivesEndpoints: readonly Endpoint<BackupsDeps>[] = [
  endpoint(
    {
      ...common,
      method: 'get',
      path: BASE,
      summary: 'Read what is recorded about the archive of a repository, and its header',
      responses: { 200: { description: 'The archive.', schema: archiveFacts }, ...missing },
    },
    async ({ params }, deps: BackupsDeps, c) =>
      c.json(
        await withArchives(deps, c, params, (archives, ...asked) => archives.describe(...asked)),
      ),
  ),
  endpoint(
    {
      ...common,
      method: 'post',
      path: `${BASE}/verify`,
      summary: 'Prove that the archive of a repository is complete and unchanged',
      description:
        'Reads the whole archive, which takes time. Checks of one caller run one after the other; up to 100 wait, more get 429.',
      responses: {
        200: { description: 'The outcome, even if the archive is damaged.', schema: archiveCheck },
        ...missing,
      },
    },
    async ({ params }, deps: BackupsDeps, c) =>
      c.json(await withArchives(deps, c, params, (archives, ...asked) => archives.check(...asked))),
  ),
  endpoint(
    {
      ...common,
      method: 'get',
      path: `${BASE}/files`,
      summary: 'List the files of the archive of a repository',
      description: 'For a bundle, the files of the default branch.',
      query: z.object({
        path: path.default('').meta({
          description: 'Only paths that start with this text, such as src/.',
        }),
        cursor: z
          .string('must be given once')
          .regex(/^\d{1,9}$/, 'must be the `next` of an earlier answer')
          .transform(Number)
          .optional()
          .meta({
            description: 'The `next` of the previous answer.',
            override: ({ jsonSchema }) => {
              Object.assign(jsonSchema, { type: 'string', pattern: '^\\d{1,9}$' });
            },
          }),
        limit: pageInput.shape.limit,
      }),
      responses: {
        200: { description: 'Files.', schema: archiveFiles },
        ...missing,
        ...unreadable,
      },
    },
    async ({ params, query }, deps: BackupsDeps, c) => {
      const { path: prefix, cursor: offset = 0, limit } = query;
      const page = await withArchives(deps, c, params, (archives, repository, call) =>
        archives.list(repository, { prefix, offset, limit }, call),
      );
      const read = page.entries.length;
      // If no entry was read, `next` would repeat the same call.
      return c.json({ ...page, next: page.truncated && read > 0 ? String(offset + read) : null });
    },
  ),
  endpoint(
    {
      ...common,
      method: 'get',
      path: `${BASE}/file`,
      summary: `Download one file of at most ${archiveLimits.extractedBytes / 2 ** 20} MiB from the archive of a repository`,
      description:
        'The bytes as archived, secrets included. Always sent as a download, so that browsers never show it as a page.',
      query: z.object({
        path: path.min(1).meta({
          description: 'Relative path with forward slashes and without "..".',
        }),
      }),
      responses: {
        200: download('The file.'),
        ...unreadable,
        404: failed('No such archive or file.'),
      },
    },
    async ({ params, query }, deps: BackupsDeps, c) => {
      const bytes = await withArchives(deps, c, params, (archives, repository, call) =>
        archives.readFile(repository, query.path, call),
      );
      const name = query.path.split('/').findLast((name) => name !== '') ?? '';
      return c.body(new Uint8Array(bytes), 200, downloadHeaders(name, bytes.length));
    },
  ),
  endpoint(
    {
      ...common,
      method: 'get',
      path: `${BASE}/bundle`,
      summary: 'Download the archive of a repository',
      description: 'git can clone a bundle directly, and fetch from the bundles that continue it.',
      query: z.object({
        file: z
          .string('must be given once')
          .max(255)
          .optional()
          .meta({ description: 'The name of one of its `files`. Default: the first.' }),
      }),
      responses: {
        200: download('The archive.'),
        404: failed('There is no archive of this repository, or it has no such file.'),
      },
    },
    async ({ params, query }, deps: BackupsDeps, c) => {
      const opened = await withArchives(deps, c, params, (archives, repository, call) =>
        archives.download(repository, query.file, call),
      );
      const headers = downloadHeaders(opened.fileName, opened.sizeBytes);
      if (c.req.method !== 'HEAD') return c.body(opened.stream(), 200, headers);
      // Nothing reads or cancels the body of a response to HEAD, so the file would stay open.
      await opened.close();
      return c.body(null, 200, headers);
    },
  ),
];

/** Runs `work` on the archives of this machine. Throws SERVICE_UNAVAILABLE if there are none. */
async function withArchives<Answer>(
  { archives }: BackupsDeps,
  c: Context<HttpEnv>,
  { owner, name }: z.output<typeof repositoryInput>,
  work: (archives: ServedArchives, repository: string, call: ArchiveCall) => Promise<Answer>,
): Promise<Answer> {
  if (archives === null) {
    throw new AppError(
      'SERVICE_UNAVAILABLE',
      'the archives are not on this server: ask the server on the machine of the worker',
    );
  }
  const { signal } = c.req.raw;
  const caller = c.get('user') ?? c.get('clientAddress');
  try {
    return await work(archives, `${owner}/${name}`, { signal, caller });
  } catch (error) {
    if (!signal.aborted) throw error;
    throw new AppError('SERVICE_UNAVAILABLE', 'the client is gone', { cause: error });
  }
}
