import * as z from 'zod';
import { drillEnvelope, drillStatement, formatEnvelope } from '../drills/statement.ts';
import { AppError } from '../errors.ts';
import { errorEnvelope, plainError } from '../http/error-shapes.ts';
import { type Endpoint, endpoint } from '../http/route.ts';
import { drillOutcomes } from '../records/drills/new-drill.ts';
import { listSigningKeys, readPublicKey } from '../records/drills/signing-keys.ts';
import {
  type FoundStatement,
  findStatement,
  listStatements,
  type StatementState,
} from '../records/drills/statements.ts';
import type { BackupsDeps } from './base/backups-deps.ts';
import { callerName } from './base/caller-name.ts';
import {
  drillInput,
  pageInput,
  signingKeyInput,
  statementInput,
  statementsInput,
} from './base/input.ts';
import { sendPage } from './base/json.ts';
import { listOf, timestamp } from './base/shapes.ts';

const common = { tag: 'Restore drills', access: 'reader' } as const;

const signingKey = z
  .object({
    id: z.string().meta({ description: 'The SHA-256 of the public key (DER), in hexadecimal.' }),
    public_key: z.string().meta({ description: 'Ed25519, in PEM.' }),
    is_current: z.boolean().meta({ description: 'Whether new statements are signed with it.' }),
    after_drill: z
      .int()
      .meta({ description: 'The last row of the ledger when it was made; 0 if there was none.' }),
    created_by: z.string().nullable().meta({
      description: 'Who replaced the key before it; null for the first one, which the server made.',
    }),
    created_at: timestamp,
    retired_at: timestamp.nullable().meta({
      description:
        'When it was replaced: what it has signed stays valid. Null for the current one.',
    }),
  })
  .meta({ id: 'SigningKey' });

const statementSummary = z
  .object({
    drill_id: z.int(),
    repository: z.string(),
    version: z.int().nullable(),
    storage: z.string(),
    started_at: timestamp,
    outcome: z.enum(drillOutcomes),
    sha256: z.string().meta({ description: 'The hash of the row of the ledger.' }),
    key_id: z.string().meta({ description: 'The signing key.' }),
    signed_at: timestamp,
  })
  .meta({ id: 'StatementSummary' });

const PEM = 'application/x-pem-file';

/** Why a drill has no statement, for people. */
const absences: Record<Exclude<StatementState, 'signed'>, string> = {
  pending: 'it could not be signed yet: see the log of the server',
  before_key: 'it was recorded before this installation had a signing key',
  no_key: 'this installation has no signing key yet: is CREDENTIALS_ENCRYPTION_KEY set?',
  altered: 'its row of the ledger was altered before it could be signed',
};

/**
 * GET /api/drills/:id/statement, /api/statements and /api/signing-keys, POST /api/signing-keys, and
 * GET /api/signing-keys/:id.
 */
export const statementsEndpoints: readonly Endpoint<BackupsDeps>[] = [
  endpoint(
    {
      ...common,
      method: 'get',
      path: '/api/drills/:id/statement',
      summary: 'Download the signed statement about a restore drill',
      description:
        'An in-toto Statement that can be verified offline with the public key of GET /api/signing-keys. See docs/restore-drills.md.',
      params: drillInput,
      query: statementInput,
      responses: {
        200: {
          description: 'The envelope, the statement, or the 64 bytes of the signature.',
          schema: z.union([drillEnvelope, drillStatement]),
          contentType: 'application/octet-stream',
        },
        404: {
          description: 'There is no such drill, or it has no statement, for the reason given.',
          schema: plainError,
        },
      },
    },
    async ({ params: { id }, query: { format } }, deps: BackupsDeps, c) => {
      const made = await requireStatement(deps, id);
      const { extension, type, body } = formatAs[format](made);
      return c.body(body, 200, {
        'Content-Type': type,
        'Content-Disposition': `attachment; filename="restore-drill-${id}.${extension}"`,
        'X-Content-Type-Options': 'nosniff',
      });
    },
  ),
  endpoint(
    {
      ...common,
      method: 'get',
      path: '/api/statements',
      summary: 'List the signed statements about restore drills, newest first',
      query: statementsInput,
      responses: {
        200: { description: 'A page of statements.', schema: listOf(statementSummary) },
      },
    },
    async ({ query }, { db }: BackupsDeps, c) =>
      sendPage(c, await listStatements(db, query, query.repository ?? null), query),
  ),
  endpoint(
    {
      ...common,
      method: 'get',
      path: '/api/signing-keys',
      summary: 'List the public keys that sign the results of restore drills, newest first',
      description: 'The private keys never leave the server.',
      query: pageInput,
      responses: { 200: { description: 'A page of keys.', schema: listOf(signingKey) } },
    },
    async ({ query }, { db }: BackupsDeps, c) =>
      sendPage(c, await listSigningKeys(db, query), query),
  ),
  endpoint(
    {
      ...common,
      method: 'get',
      path: '/api/signing-keys/:id',
      summary: 'Download a public key as a file',
      params: signingKeyInput,
      responses: {
        200: { description: 'Ed25519, in PEM.', contentType: PEM },
        404: { description: 'There is no such key.', schema: plainError },
      },
    },
    async ({ params }, { db }: BackupsDeps, c) => {
      const id = params.id.replace(/\.pem$/, '');
      const key = await readPublicKey(db, id);
      if (key === null) throw new AppError('NOT_FOUND', 'there is no such signing key');
      return c.body(key, 200, {
        'Content-Type': PEM,
        'Content-Disposition': `attachment; filename="backup-observatory-${id.slice(0, 16)}.pem"`,
      });
    },
  ),
  endpoint(
    {
      ...common,
      method: 'post',
      path: '/api/signing-keys',
      access: 'administrator',
      summary: 'Replace the signing key',
      description:
        'For example because its private part may have leaked. Statements that the former key has signed stay valid, and its public part stays in the list.',
      responses: {
        201: {
          description: 'The id of the new key.',
          schema: z.object({ id: signingKey.shape.id }).meta({ id: 'NewSigningKey' }),
        },
        409: {
          description: 'Somebody else has replaced the key at the same time.',
          schema: plainError,
        },
        503: {
          description: 'CREDENTIALS_ENCRYPTION_KEY is not set, or no database.',
          schema: errorEnvelope,
        },
      },
    },
    async (_input, { db, config, log }: BackupsDeps, c) => {
      const { replaceSigner } = await import('../drills/signing-key.ts');
      const by = callerName(c);
      const id = await replaceSigner(db, config.CREDENTIALS_ENCRYPTION_KEY, by);
      log.info('the signing key was replaced', { request_id: c.get('requestId'), by, key: id });
      return c.json({ id }, 201);
    },
  ),
];

const formatAs: Record<
  z.output<typeof statementInput>['format'],
  (made: MadeStatement) => {
    extension: string;
    type: string;
    body: string | Uint8Array<ArrayBuffer>;
  }
> = {
  envelope: ({ statement, key_id, envelope_signature }) => ({
    ...{ extension: 'dsse.json', type: 'application/json' },
    body: formatEnvelope(statement, key_id, envelope_signature),
  }),
  statement: ({ statement }) => ({
    ...{ extension: 'statement.json', type: 'application/json' },
    body: statement,
  }),
  signature: ({ statement_signature }) => ({
    ...{ extension: 'statement.sig', type: 'application/octet-stream' },
    body: Uint8Array.from(Buffer.from(statement_signature, 'base64')),
  }),
};

type MadeStatement = { [Key in keyof FoundStatement]: NonNullable<FoundStatement[Key]> };

/** Signs the drill first if that is still to be done. Throws NOT_FOUND with the reason if there is no statement. */
async function requireStatement(deps: BackupsDeps, drillId: number): Promise<MadeStatement> {
  const { db } = deps;
  let found = await findStatement(db, drillId);
  if (found?.state === 'pending') {
    // Loaded lazily, like all that signs: rarely needed.
    const { signDrills } = await import('../drills/sign-drills.ts');
    await signDrills({ ...deps, keys: deps.config.CREDENTIALS_ENCRYPTION_KEY });
    found = await findStatement(db, drillId);
  }
  if (found === null) throw new AppError('NOT_FOUND', 'there is no such drill');
  if (found.state !== 'signed') {
    throw new AppError(
      'NOT_FOUND',
      `drill ${drillId} has no signed statement: ${absences[found.state]}`,
    );
  }
  return found as MadeStatement;
}
