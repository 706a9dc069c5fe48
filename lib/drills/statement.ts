import { type KeyObject, verify } from 'node:crypto';
import * as z from 'zod';
import { parseJson } from '../json.ts';
import { drillEvidence, drillOutcomes } from '../records/drills/new-drill.ts';
import type { NewStatement, UnsignedDrill } from '../records/drills/statements.ts';
import type { Signer } from './signing-key.ts';

/** The media type of what an envelope holds. */
export const PAYLOAD_TYPE = 'application/vnd.in-toto+json';
/** The type of our predicate. It changes whenever a field changes its meaning. */
export const PREDICATE_TYPE = 'urn:backup-observatory:restore-drill:v1';

const sha256 = z.string().regex(/^[0-9a-f]{64}$/);
const count = z.int().min(0);
const ledgerRow = z.string().regex(/^\d+$/).meta({ description: 'The id of a row of the ledger.' });

/** What a drill proved: the predicate of its statement. */
const restoreDrillPredicate = z
  .object({
    repository: z.string(),
    version: z.int().nullable().meta({ description: 'The restored version; null if unknown.' }),
    storage: z.string().meta({
      description: 'Where it was restored from: `folder`, or the address of a store.',
    }),
    startedAt: z.iso.datetime(),
    durationMs: count,
    bytes: count.meta({ description: 'The size of the files that the version needs.' }),
    outcome: z.enum(drillOutcomes),
    reason: z.string().nullable().meta({ description: 'Why it is not proven; null if it is.' }),
    refs: z
      .object({
        count: count.meta({ description: 'How many there are, without HEAD.' }),
        sha256: sha256.meta({
          description: 'SHA-256 of the lines `<id> <name>` of all refs with HEAD, sorted by name.',
        }),
        listed: z.array(z.object({ name: z.string(), id: z.string() })),
        isComplete: z.boolean().meta({ description: 'Whether `listed` has all of them.' }),
      })
      .nullable()
      .meta({ description: 'Null if the drill did not get that far.' }),
    head: z
      .object({ commit: z.string(), tree: z.string() })
      .nullable()
      .meta({ description: 'The commit of HEAD, whose files were written and read back.' }),
    evidence: z.looseObject({}).meta({ description: 'All other findings of the ledger.' }),
    provenBy: z.object({
      name: z.literal('Backup Observatory'),
      version: z
        .string()
        .nullable()
        .meta({ description: 'The version of the product that did the drill.' }),
      git: z.string().nullable(),
    }),
    signedAt: z.iso.datetime(),
    ledger: z.object({
      entry: z.object({
        id: ledgerRow,
        sha256: sha256.meta({ description: 'The hash of the row about this drill.' }),
        previousSha256: sha256.meta({ description: 'The hash of the row before it.' }),
      }),
      head: z
        .object({ id: ledgerRow, sha256 })
        .meta({ description: 'The last row when the statement was signed.' }),
    }),
  })
  .meta({ id: 'RestoreDrillPredicate' });

/** An in-toto Statement (v1) about a drill. */
export const drillStatement = z
  .object({
    _type: z.literal('https://in-toto.io/Statement/v1'),
    subject: z
      .array(z.object({ name: z.string(), digest: z.object({ sha256 }) }))
      .min(1)
      .meta({
        description:
          'The files of the archive, each checked by the drill. If it did not get that far, the row of the ledger.',
      }),
    predicateType: z.literal(PREDICATE_TYPE),
    predicate: restoreDrillPredicate,
  })
  .meta({ id: 'RestoreDrillStatement' });

/** A DSSE envelope. */
export const drillEnvelope = z
  .object({
    payload: z.string().meta({ description: 'The statement, in base64.' }),
    payloadType: z.literal(PAYLOAD_TYPE),
    signatures: z.array(
      z.object({
        keyid: z.string().meta({ description: 'The id of the signing key.' }),
        sig: z
          .string()
          .meta({ description: 'Ed25519 of the pre-authentication encoding, in base64.' }),
      }),
    ),
  })
  .meta({ id: 'RestoreDrillEnvelope' });

/** Makes and signs the statement about a row of the ledger. */
export function signStatement(row: UnsignedDrill, signer: Signer, signedAt: string): NewStatement {
  const statement = `${JSON.stringify(describe(row, signedAt), null, 1)}\n`;
  const payload = Buffer.from(statement);
  return {
    drill_id: row.id,
    statement,
    envelope_signature: signer.sign(encodeForSigning(payload)).toString('base64'),
    statement_signature: signer.sign(payload).toString('base64'),
  };
}

const someEvidence = drillEvidence.partial().loose();

function describe(row: UnsignedDrill, signedAt: string): z.output<typeof drillStatement> {
  const found = parseJson(row.evidence);
  // Other programs can add rows, too. What they found is signed as it is.
  const known: z.output<typeof someEvidence> = someEvidence.safeParse(found).data ?? {
    other: found,
  };
  const {
    version,
    git_version,
    refs,
    refs_sha256,
    ref_list,
    head,
    tree_sha,
    archive_files,
    ...rest
  } = known;
  return {
    _type: 'https://in-toto.io/Statement/v1',
    subject:
      archive_files === undefined || archive_files.length === 0
        ? [{ name: `restore_drills/${row.id}`, digest: { sha256: row.sha256 } }]
        : archive_files.map(({ name, sha256 }) => ({ name, digest: { sha256 } })),
    predicateType: PREDICATE_TYPE,
    predicate: {
      repository: row.repository_name,
      version: row.version === null ? null : Number(row.version),
      storage: row.storage,
      startedAt: row.started_at,
      durationMs: Number(row.duration_ms),
      bytes: Number(row.bytes),
      outcome: z.enum(drillOutcomes).parse(row.outcome),
      reason: row.reason,
      refs:
        refs === undefined || refs_sha256 === undefined
          ? null
          : { count: refs, sha256: refs_sha256, ...listRefs(ref_list ?? [], refs) },
      head: head === undefined || tree_sha === undefined ? null : { commit: head, tree: tree_sha },
      evidence: rest,
      provenBy: {
        name: 'Backup Observatory',
        version: version ?? null,
        git: git_version ?? null,
      },
      signedAt,
      ledger: {
        entry: { id: row.id, sha256: row.sha256, previousSha256: row.previous_sha256 },
        head: { id: row.head_id, sha256: row.head_sha256 },
      },
    },
  };
}

function listRefs(lines: readonly string[], count: number) {
  const listed = lines.map((line) => {
    const space = line.indexOf(' ');
    return { name: line.slice(space + 1), id: line.slice(0, space) };
  });
  return { listed, isComplete: listed.filter(({ name }) => name !== 'HEAD').length === count };
}

/** The pre-authentication encoding of DSSE: the bytes that the signature of an envelope covers. */
function encodeForSigning(payload: Buffer): Buffer {
  return Buffer.concat([
    Buffer.from(`DSSEv1 ${PAYLOAD_TYPE.length} ${PAYLOAD_TYPE} ${payload.length} `),
    payload,
  ]);
}

/** The DSSE envelope of a statement, as JSON. */
export function formatEnvelope(statement: string, keyId: string, signature: string): string {
  const envelope: z.output<typeof drillEnvelope> = {
    payload: Buffer.from(statement).toString('base64'),
    payloadType: PAYLOAD_TYPE,
    signatures: [{ keyid: keyId, sig: signature }],
  };
  return JSON.stringify(envelope);
}

/** Whether both signatures of a statement were made with the key. */
export function isSignedBy(
  key: KeyObject,
  made: Pick<NewStatement, 'statement' | 'envelope_signature' | 'statement_signature'>,
): boolean {
  const payload = Buffer.from(made.statement);
  return (
    verify(null, encodeForSigning(payload), key, Buffer.from(made.envelope_signature, 'base64')) &&
    verify(null, payload, key, Buffer.from(made.statement_signature, 'base64'))
  );
}

const anchored = z.object({
  predicateType: drillStatement.shape.predicateType,
  predicate: z.object({ ledger: restoreDrillPredicate.shape.ledger }),
});

/** The rows of the ledger that a statement names; null if it is not a statement about a drill. */
export function readAnchor(
  statement: string,
): z.output<typeof anchored>['predicate']['ledger'] | null {
  return anchored.safeParse(parseJson(statement)).data?.predicate.ledger ?? null;
}
