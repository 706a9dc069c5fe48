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
import { comparedEntries, pageInput } from '../base/input.ts';
import { downloadHeaders } from './downloads.ts';
import {
  archiveCheck,
  archiveFacts,
  archiveFiles,
  archiveFolder,
  comparison,
  fileComparison,
} from './shapes.ts';

const BASE = '/api/repos/:owner/:name/archive';
const COMPARE = '/api/repos/:owner/:name/compare';

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

const versionNumber = z
  .string('must be given once')
  .regex(/^[1-9]\d{0,8}$/, 'must be the number of a version')
  .transform(Number)
  .optional();

const aboutVersion = (description: string) => ({
  description,
  override: ({ jsonSchema }: { jsonSchema: object }) => {
    Object.assign(jsonSchema, { type: 'integer', minimum: 1, pattern: undefined });
  },
});

const ref = z.string('must be given once').min(1).max(4096);

const tipInput = z.object({
  version: versionNumber.meta(aboutVersion('The number of a version. Default: the newest.')),
  ref: ref.optional().meta({
    description: 'A branch or tag of the version. Default: its default branch.',
  }),
});

const compareInput = z.object({
  from: versionNumber.meta(
    aboutVersion('The number of the earlier version. Default: the one before `to`.'),
  ),
  to: versionNumber.meta(aboutVersion('The number of the later version. Default: the newest.')),
  ref: ref.optional().meta({
    description:
      'The branch or tag whose files are compared. Default: the default branch of each version.',
  }),
});

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

/** GET /api/archive-folder, GET /api/repos/:owner/:name/archive, …/files, …/file, …/zip and …/bundle, POST …/verify, and GET …/compare. */
export const archivesEndpoints: readonly Endpoint<BackupsDeps>[] = [
  endpoint(
    {
      method: 'get',
      tag: 'Archives',
      access: 'identified',
      path: '/api/archive-folder',
      summary: 'Read where the archives are on this server, and how much room their disk has',
      description: 'Responds with 503 where the archives are not on this server.',
      responses: { 200: { description: 'The archive folder.', schema: archiveFolder } },
    },
    async (_input, deps: BackupsDeps, c) => c.json(await requireArchives(deps).measureFolder()),
  ),
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
      description: 'For a bundle, the files of a branch of a version.',
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
        folders: z
          .enum(['true', 'false'], 'must be true or false')
          .transform((text) => text === 'true')
          .optional()
          .meta({
            description:
              'true: only what is in the folder `path` itself, with its subfolders. false, the default: all files below.',
            override: ({ jsonSchema }) => {
              Object.assign(jsonSchema, { type: 'boolean', enum: undefined });
            },
          }),
        ...tipInput.shape,
      }),
      responses: {
        200: { description: 'Files.', schema: archiveFiles },
        ...missing,
        ...unreadable,
      },
    },
    async ({ params, query }, deps: BackupsDeps, c) => {
      const { path: prefix, cursor: offset = 0, limit, folders: isFlat, ...tip } = query;
      const page = await withArchives(deps, c, params, (archives, repository, call) =>
        archives.list(repository, { prefix, offset, limit, isFlat, ...tip }, call),
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
        ...tipInput.shape,
      }),
      responses: {
        200: download('The file.'),
        ...unreadable,
        404: failed('No such archive or file.'),
      },
    },
    async ({ params, query: { path, ...tip } }, deps: BackupsDeps, c) => {
      const bytes = await withArchives(deps, c, params, (archives, repository, call) =>
        archives.readFile(repository, path, tip, call),
      );
      const name = path.split('/').findLast((name) => name !== '') ?? '';
      return c.body(new Uint8Array(bytes), 200, downloadHeaders(name, bytes.length));
    },
  ),
  endpoint(
    {
      ...common,
      method: 'get',
      path: `${BASE}/zip`,
      summary: 'Download a folder of the archive of a repository, or all files, as a zip',
      description: `At most ${archiveLimits.zippedFiles} files of ${archiveLimits.zippedBytes / 2 ** 30} GiB. The bytes as archived, secrets included. Symbolic links are files that contain their targets, and unsafe names are replaced; a file READ-ME-FIRST.txt names them. The connection breaks if something cannot be read once it has begun.`,
      query: z.object({
        path: path.default('').meta({
          description: 'The path of a folder, without ".."; all files by default.',
        }),
        ...tipInput.shape,
      }),
      responses: {
        200: { description: 'The zip.', contentType: 'application/zip' },
        ...unreadable,
        404: failed('No such archive, version or folder.'),
      },
    },
    async ({ params, query }, deps: BackupsDeps, c) => {
      const { stream } = await withArchives(deps, c, params, (archives, repository, call) =>
        archives.zip(repository, query, call),
      );
      const headers = downloadHeaders(zipName(params.name, query), null, 'application/zip');
      if (c.req.method !== 'HEAD') return c.body(stream, 200, headers);
      await stream.cancel();
      return c.body(null, 200, headers);
    },
  ),
  endpoint(
    {
      ...common,
      method: 'get',
      path: COMPARE,
      summary: 'Compare two versions of a repository',
      description:
        'Where branches and tags point, the commits that only one of them has, and the files of one branch. Lists have at most `limit` entries, and counts have limits too: `truncated` says whether there are, or may be, more.',
      query: z.object({ ...compareInput.shape, limit: comparedEntries }),
      responses: {
        200: { description: 'How they differ.', schema: comparison },
        404: failed('There is no archive of this repository, or it has no such version.'),
        ...unreadable,
      },
    },
    async ({ params, query }, deps: BackupsDeps, c) =>
      c.json(
        await withArchives(deps, c, params, (archives, repository, call) =>
          archives.compare(repository, query, call),
        ),
      ),
  ),
  endpoint(
    {
      ...common,
      method: 'get',
      path: `${COMPARE}/file`,
      summary: 'Compare a text file of two versions of a repository',
      description: `The difference of files of at most ${archiveLimits.comparedBytes / 2 ** 20} MiB. The lines as archived, secrets included.`,
      query: z.object({
        path: path.min(1).meta({ description: 'Relative path without "..".' }),
        ...compareInput.shape,
      }),
      responses: {
        200: { description: 'How the file differs.', schema: fileComparison },
        404: failed('No such archive or version, or neither version has the file.'),
        ...unreadable,
      },
    },
    async ({ params, query }, deps: BackupsDeps, c) =>
      c.json(
        await withArchives(deps, c, params, (archives, repository, call) =>
          archives.compareFile(repository, query, call),
        ),
      ),
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

/** `app-version-3-src.zip`. */
function zipName(name: string, { path, version }: { path: string; version?: number | undefined }) {
  const folder = path.split('/').findLast((part) => part !== '');
  const parts = [name, version === undefined ? [] : `version-${version}`, folder ?? []].flat();
  return `${parts.join('-')}.zip`;
}

/** Throws SERVICE_UNAVAILABLE if there are no archives on this machine. */
function requireArchives({ archives }: BackupsDeps): ServedArchives {
  if (archives !== null) return archives;
  throw new AppError(
    'SERVICE_UNAVAILABLE',
    'the archives are not on this server: ask the server on the machine of the worker',
  );
}

/** Runs `work` on the archives of this machine. Throws SERVICE_UNAVAILABLE if there are none. */
async function withArchives<Answer>(
  deps: BackupsDeps,
  c: Context<HttpEnv>,
  { owner, name }: z.output<typeof repositoryInput>,
  work: (archives: ServedArchives, repository: string, call: ArchiveCall) => Promise<Answer>,
): Promise<Answer> {
  const archives = requireArchives(deps);
  const { signal } = c.req.raw;
  const caller = c.get('user') ?? c.get('clientAddress');
  try {
    return await work(archives, `${owner}/${name}`, { signal, caller });
  } catch (error) {
    if (!signal.aborted) throw error;
    throw new AppError('SERVICE_UNAVAILABLE', 'the client is gone', { cause: error });
  }
}
