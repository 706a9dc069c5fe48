import type { AlertMessage } from '../../channels/channel.ts';
import type { Clock } from '../../clock.ts';
import type { FreshnessConfig } from '../../config/freshness.ts';
import type { Database } from '../../database/database.ts';
import { readOverview } from '../../records/overview.ts';
import { judgingNow, type RepositoryState } from '../../records/repositories/repository-states.ts';
import { formatMinute } from '../../text/format-minute.ts';
import { counted, countRepositories } from '../../text/units.ts';
import { readUrgentIncidents, type UrgentIncidents } from '../incidents/list.ts';

/** How many incidents, and how many repositories, a digest names. */
const MAX_NAMED = 10;
/** How many of those that were proven longest ago the first sentence names. */
const MAX_OLDEST = 2;
const DAY_MS = 86_400_000;

/** The part of the overview that a digest tells. */
interface Overview {
  repositories: Record<RepositoryState | 'total', number>;
  worst: { full_name: string; state: RepositoryState; last_good_at: string | null }[];
  proofs: {
    never: number;
    failing: number;
    most_needed: { full_name: string; state: string; proven_at: string | null }[];
  };
  next_run_expected_at: string | null;
}

const words: Readonly<Record<Exclude<RepositoryState, 'good'>, string>> = {
  gone: 'with a lost archive',
  never: 'never backed up',
  lost: 'lost at the source',
  failing: 'failing',
  stale: 'out of date',
};

interface DigestDeps {
  db: Database;
  clock: Clock;
  config: FreshnessConfig;
}

/** Composes the digest of the backups as they are now. */
export async function composeDigest(
  { db, clock, config }: DigestDeps,
  { id, link }: { id: string; link: string | undefined },
): Promise<AlertMessage> {
  const now = clock.now();
  const judging = judgingNow({ clock, config });
  const overview = JSON.parse(await readOverview(db, judging)) as Overview;
  const incidents = await readUrgentIncidents(db, MAX_NAMED);
  const todo = [
    ...linesOfIncidents(incidents),
    ...linesOfRepositories(overview),
    ...linesOfProofs(overview),
  ];
  const { next_run_expected_at: next } = overview;
  return {
    id: `digest-${id}`,
    kind: 'digest',
    severity: incidents.critical > 0 ? 'critical' : todo.length > 0 ? 'warning' : 'info',
    title: `Digest: ${describeStates(overview)}${incidents.open > 0 ? `, ${counted(incidents.open, 'incident')} open` : ''}`,
    lines: [
      `${describeStates(overview)}${describeOldest(overview, now)}.`,
      ...(todo.length > 0 ? todo : ['Nothing needs you.']),
      ...(next === null ? [] : [`Next run: ${formatMinute(next)}`]),
    ],
    at: new Date(now),
    ...(link === undefined ? {} : { link }),
  };
}

/** `All 41 good`, or `39 of 41 good: 1 failing, 1 out of date`. */
function describeStates({ repositories }: Overview): string {
  const { total, good } = repositories;
  if (total === 0) return 'Nothing is backed up yet';
  if (good === total) return `All ${total} good`;
  const others = Object.entries(words)
    .map(([state, word]) => ({ word, count: repositories[state as RepositoryState] }))
    .filter(({ count }) => count > 0)
    .map(({ word, count }) => `${count} ${word}`);
  return `${good} of ${total} good: ${others.join(', ')}`;
}

/** `, 2 proven longest ago: acme/app 12 days ago, acme/lib 9 days ago`. */
function describeOldest({ repositories, proofs }: Overview, now: number): string {
  if (repositories.total === 0) return '';
  if (proofs.never === repositories.total) return ', none proven yet';
  const oldest = proofs.most_needed
    .filter(({ state, proven_at }) => state !== 'failing' && proven_at !== null)
    .slice(0, MAX_OLDEST)
    .map(({ full_name, proven_at }) => `${full_name} ${ageOf(`${proven_at}`, now)}`);
  if (oldest.length === 0) return proofs.never > 0 ? `, ${proofs.never} never proven` : '';
  return `, ${oldest.length} proven longest ago: ${oldest.join(', ')}`;
}

function ageOf(at: string, now: number): string {
  const days = Math.floor((now - Date.parse(at)) / DAY_MS);
  return days <= 0 ? 'today' : `${counted(days, 'day')} ago`;
}

function linesOfIncidents({ open, first }: UrgentIncidents): string[] {
  return [
    ...first.flatMap(({ title, summary, advice, acknowledged, opened_at }) => [
      `${title}: ${summary} (since ${formatMinute(opened_at)}${acknowledged ? ', acknowledged' : ''})`,
      ...(advice === null || acknowledged ? [] : [`What to do: ${advice}`]),
    ]),
    ...(open > first.length ? [`and ${counted(open - first.length, 'more incident')}`] : []),
  ];
}

function linesOfRepositories({ repositories, worst }: Overview): string[] {
  const named = worst.slice(0, MAX_NAMED);
  const more = repositories.total - repositories.good - named.length;
  return [
    ...named.map(({ full_name, state, last_good_at }) => {
      const good = last_good_at === null ? '' : `, last good ${formatMinute(last_good_at)}`;
      return `${full_name}: ${words[state as keyof typeof words]}${good}`;
    }),
    ...(more > 0 ? [`and ${more} more that are not good`] : []),
  ];
}

function linesOfProofs({ repositories, proofs: { never, failing } }: Overview): string[] {
  return [
    ...(failing > 0 ? [`${countRepositories(failing)} failed a restore drill`] : []),
    ...(never > 0 && repositories.total > 0
      ? [
          `${countRepositories(never)} ${never === 1 ? 'was' : 'were'} never proven by a restore drill`,
        ]
      : []),
  ];
}
