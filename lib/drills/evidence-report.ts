import type { Database } from '../database/database.ts';
import { type ObjectivesReport, readObjectives, shareOf } from '../objectives/attainment.ts';
import {
  type EvidenceDrill,
  type EvidencePeriod,
  type EvidenceRepository,
  readEvidenceDrills,
  readEvidenceFacts,
  readEvidenceRepositories,
} from '../records/drills/evidence.ts';
import { readLedgerSpan } from '../records/drills/ledger.ts';
import { listSigningKeys } from '../records/drills/signing-keys.ts';
import { ATTAINMENT_DAYS } from '../records/objectives.ts';
import { cleanText } from '../text/clean-text.ts';
import { formatMinute } from '../text/format-minute.ts';
import { counted, formatBytes } from '../text/units.ts';
import { version } from '../version.ts';
import { checkLedger, type LedgerCheck } from './check-ledger.ts';
import { checkStatements, type StatementsCheck } from './check-statements.ts';
import type { EvidenceFormat } from './evidence-format.ts';

const ROWS_AT_ONCE = 500;
/** Keys are replaced rarely. */
const MAX_KEYS = 100;

/** What is proven, in words that an auditor can hold us to. */
const METHOD = [
  'Each drill restores the newest version of a repository from the place named, with the same code as in an emergency, into a folder that is removed afterwards.',
  'The version is proven if the SHA-256 of every file and manifest of the archive is the recorded one, git reads every object and finds everything that the refs need, the refs are those that were recorded when the version was made, and all files of the default branch could be written, read back and compared with the tree of its commit.',
  'A repository without branches, tags or other refs has no archive. It is proven to be empty (refs: 0) if a run read its source within the last 7 days and found no refs, and there is no archive of it.',
  'A drill failed if the archive cannot be restored. It is incomplete if that could not be determined, for the reason given.',
  'Files of Git LFS, issues and other data of the git host are in no archive, so drills say nothing about them.',
];

/**
 * The evidence of a period for an auditor, in pieces: what was drilled, what that proves, and the state of the ledger.
 * Reads a bounded number of rows at a time. Throws the database's errors.
 */
export async function* writeEvidence(
  db: Database,
  of: Omit<EvidencePeriod, 'now'>,
  { format, now }: { format: EvidenceFormat; now: string },
): AsyncGenerator<string> {
  const period = { ...of, now };
  const facts = await readEvidenceFacts(db, period);
  const rows = await readLedgerSpan(db, period);
  // Checks only the rows that the report covers and those that may have been moved out of it, not the whole ledger,
  // which may have hundreds of thousands.
  const ledger = rows === null ? null : await checkLedger(db, rows);
  const span = rows === null ? null : { after: rows.after?.id ?? '0', to: String(rows.to) };
  const statements = span === null ? null : await checkStatements(db, span);
  const keys = await listSigningKeys(db, { page: 1, limit: MAX_KEYS });
  const title = `Restore evidence, ${formatMinute(period.from)} to ${formatMinute(period.to)}`;
  yield format.begin(title);
  yield format.list([
    `Made: ${formatMinute(now)}, by Backup Observatory ${version}`,
    `Restore drills: ${facts.drills}, proven: ${facts.proven}, failed: ${facts.failed}, incomplete: ${facts.incomplete}`,
    `Repositories that are backed up: ${facts.repositories}, proven restorable in this period: ${facts.proven_repositories}`,
    ...(facts.never > 0 ? [`Never backed up, and not listed: ${facts.never}`] : []),
    ...(facts.gone > 0
      ? [`NOTHING IS KEPT of ${facts.gone}: their archive is gone, and no store has a copy`]
      : []),
  ]);
  yield format.heading('What a drill proves');
  yield format.list(METHOD);
  yield format.heading('Ledger');
  yield format.list(describeLedger(ledger));
  yield format.heading('Signed statements');
  yield format.list(describeStatements(statements, JSON.parse(keys.items)));
  yield format.heading(`Objectives, ${ATTAINMENT_DAYS} days to ${formatMinute(now)}`);
  yield* writeObjectives(await readObjectives(db, now), format);
  yield format.heading('Repositories');
  yield* format.table(
    ['Repository', 'Last proof in the period', 'Version', 'From', 'Failed since'],
    () => repositoryRows(db, period),
  );
  yield format.heading('Drills');
  yield* format.table(
    [
      'Row',
      'Started',
      'Repository',
      'Version',
      'From',
      'Outcome',
      'Took',
      'Read',
      'Refs',
      'Tree',
      'Hash of the row',
    ],
    () => drillRows(db, period),
  );
  yield format.end();
}

function describeLedger(ledger: LedgerCheck | null): string[] {
  const whole = '`npm run doctor` checks the whole ledger.';
  if (ledger === null) return [`The ledger has no row in this period. ${whole}`];
  const { broken, rows, head } = ledger;
  const state =
    broken === null
      ? `The rows from the first drill of this period to the last, and one on either side, were checked when this report was made (${counted(rows, 'row')}): each is unaltered and follows the one before it.`
      : `The ledger is NOT intact: ${broken.reason} (row ${broken.id}).${rows === 0 ? '' : ` The ${counted(rows, 'row')} before it ${rows === 1 ? 'is' : 'are'}.`}`;
  const hash = `Hash of the last intact row: ${head}. Compare it with the ledger later: if it still contains this hash, nothing before it was changed.`;
  return [`${state} ${whole}`, ...(rows === 0 ? [] : [hash])];
}

async function* writeObjectives(
  { objectives, without }: ObjectivesReport,
  format: EvidenceFormat,
): AsyncGenerator<string> {
  yield format.list([
    'RPO: the share of the time in which the newest good backup was younger than the objective, of all repositories of the group together. RTO: the share of the restore drills that restored within the objective; a failed drill did not, an incomplete one does not count. Shares are rounded down.',
    `Repositories without an objective: ${without}`,
  ]);
  if (objectives.length === 0) return;
  const head = ['Group', 'Repositories', 'RPO', 'Attained', 'Measured since', 'RTO', 'Attained'];
  yield* format.table(head, async function* () {
    for (const { name, patterns, repositories, rpo_hours, rto_minutes, rpo, rto } of objectives) {
      yield [
        clean(`${name} (${patterns.join(', ')})`),
        String(repositories),
        rpo === null ? 'none' : `${rpo_hours} h`,
        rpo === null ? '' : percent(shareOf(rpo.met_ms, rpo.measured_ms)),
        rpo?.measured_since ? formatMinute(rpo.measured_since) : '',
        rto === null ? 'none' : `${rto_minutes} min`,
        rto === null
          ? ''
          : `${percent(shareOf(rto.within, rto.drills))} (${rto.within} of ${counted(rto.drills, 'drill')})`,
      ];
    }
  });
}

function percent(share: number | null): string {
  return share === null ? 'not measured' : `${(share * 100).toFixed(2)} %`;
}

interface KeyOfEvidence {
  id: string;
  created_at: string;
  retired_at: string | null;
}

function describeStatements(
  found: StatementsCheck | null,
  keys: readonly KeyOfEvidence[],
): string[] {
  if (keys.length === 0) return ['No drill is signed: no signing key was made yet.'];
  const state =
    found === null || (found.broken === null && found.statements === 0)
      ? 'No drill of this period is signed. Drills from before the first key are not.'
      : found.broken === null
        ? `Of the rows that were checked, ${found.statements} have a signed statement: each has a valid signature, and names the hashes that the ledger still has.`
        : `NOT every signed statement is right: the one about row ${found.broken.drillId}: ${found.broken.reason}.`;
  return [
    state,
    ...keys.map(({ id, created_at, retired_at }) => {
      const until = retired_at === null ? 'now' : formatMinute(retired_at);
      return `Ed25519 key, SHA-256 of its public part (DER): ${id}. Used from ${formatMinute(created_at)} to ${until}.`;
    }),
    'The page and GET /api/signing-keys give the public keys (PEM); each drill of a repository, and GET /api/drills/{id}/statement, gives its statement (in-toto, with a detached signature and as a DSSE envelope).',
    'To verify one offline: `openssl pkeyutl -verify -pubin -inkey KEY.pem -rawin -in STATEMENT.json -sigfile STATEMENT.sig`. It names the hash of the row below (`predicate.ledger.entry.sha256`) and of the row before it.',
  ];
}

async function* repositoryRows(db: Database, period: EvidencePeriod): AsyncGenerator<string[]> {
  let after = '';
  for (;;) {
    const page = await readEvidenceRepositories(db, period, after, ROWS_AT_ONCE);
    for (const one of page) yield repositoryRow(one);
    after = page.at(-1)?.name ?? after;
    if (page.length < ROWS_AT_ONCE) return;
  }
}

function repositoryRow(one: EvidenceRepository): string[] {
  const failure = one.is_gone
    ? 'NOTHING IS KEPT: its archive is gone, and no store has a copy'
    : one.failed_at === null
      ? ''
      : clean(`FAILED ${formatMinute(one.failed_at)} from ${one.failed_storage}: ${one.reason}`);
  if (one.proven_at === null) return [clean(one.name), 'not proven', '', '', failure];
  const proof = [formatMinute(one.proven_at), String(one.version ?? ''), clean(one.storage)];
  return [clean(one.name), ...proof, failure];
}

async function* drillRows(db: Database, period: EvidencePeriod): AsyncGenerator<string[]> {
  let after: EvidenceDrill | null = null;
  for (;;) {
    const page: EvidenceDrill[] = await readEvidenceDrills(db, period, after, ROWS_AT_ONCE);
    for (const drill of page) yield drillRow(drill);
    after = page.at(-1) ?? after;
    if (page.length < ROWS_AT_ONCE) return;
  }
}

function drillRow(drill: EvidenceDrill): string[] {
  const started = formatMinute(drill.started_at);
  return [
    String(drill.id),
    drill.is_ahead ? `${started}, by a clock that was ahead` : started,
    clean(drill.repository),
    String(drill.version ?? ''),
    clean(drill.storage),
    drill.reason === null ? drill.outcome : clean(`${drill.outcome}: ${drill.reason}`),
    `${(drill.duration_ms / 1_000).toFixed(1)} s`,
    formatBytes(drill.bytes),
    drill.refs_sha256 ?? '',
    drill.tree_sha ?? '',
    drill.sha256,
  ];
}

function clean(text: string | null): string {
  return cleanText(text ?? '', 500);
}
