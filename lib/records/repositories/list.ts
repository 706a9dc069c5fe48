import type { Database, SqlValue, Statement } from '../../database/database.ts';
import { newestForgotten, newestOfAll, newestResults } from '../base/newest-results.ts';
import {
  jsonArray,
  jsonObject,
  type Page,
  type PageRequest,
  pageOffset,
  readObject,
  readPage,
} from '../base/page.ts';
import { type ProofState, proofStates } from '../drills/states.ts';
import { forgottenColumn } from './forgotten.ts';
import { type OffSiteState, offSiteCopies } from './off-site.ts';
import {
  JUDGED_AT,
  type Judging,
  judgingBy,
  judgingValues,
  type RepositoryState,
  repositoryColumns,
  stateCountsSql,
  withStates,
  worstKeys,
} from './repository-states.ts';
import { wouldLose } from './would-lose.ts';

type Keys = readonly (readonly [expression: string, direction: 'ASC' | 'DESC'])[];

const byName: Keys = [
  ['lower(repository.repo_full_name)', 'ASC'],
  ['repository.repo_full_name', 'ASC'],
];
const newestFirst: Keys = [
  ['repository.created_at', 'DESC'],
  ['repository.result_id', 'DESC'],
];
const orders = {
  size: [['coalesce(repository.archive_size_bytes, 0)', 'DESC'], ...newestFirst],
  name: byName,
  newest: newestFirst,
  worst: worstKeys.map((key) => [key, 'ASC'] as const),
  last_good: [["coalesce(repository.last_good_at, '-infinity')", 'DESC'], ...byName],
  proof: [
    ["repository.proof_state = 'failing'", 'DESC'],
    ["coalesce(repository.proven_at, '-infinity')", 'ASC'],
    ...byName,
  ],
} satisfies Record<string, Keys>;

/** How a list of repositories can be ordered. */
export type RepositoryOrder = keyof typeof orders;
export const repositoryOrders = Object.keys(orders) as RepositoryOrder[];

const opposite = { ASC: 'DESC', DESC: 'ASC' } as const;

function orderBy(order: RepositoryOrder, isReverse: boolean): string {
  const keys: Keys = orders[order];
  return keys
    .map(([key, direction]) => `${key} ${isReverse ? opposite[direction] : direction}`)
    .join(', ');
}

/** Selects and orders repositories. */
export interface RepositorySelection extends Judging {
  /** Part of the name, case-insensitive. */
  text?: string | undefined;
  state?: RepositoryState | undefined;
  proof?: ProofState | undefined;
  offSite?: OffSiteState | undefined;
  /** Whether to select forgotten repositories instead of tracked ones. */
  forgotten?: boolean | undefined;
  order: RepositoryOrder;
  /** Whether to list them the other way round. */
  isReverse?: boolean | undefined;
}

/**
 * The repositories that match, each with its newest result and its state. Unless states are needed to filter or order,
 * they are looked up only for the page.
 */
export function listRepositories(
  db: Database,
  request: PageRequest,
  selection: RepositorySelection,
): Promise<Page> {
  const { text, state, proof, offSite, forgotten = false, order, isReverse = false } = selection;
  const values: SqlValue[] = [request.limit, pageOffset(request), ...judgingValues(selection)];
  const parameter = (value: SqlValue) => `$${values.push(value)}`;
  const named =
    text === undefined
      ? 'true'
      : `strpos(lower(repo_full_name), lower(${parameter(text)}::text)) > 0`;
  const copied =
    offSite === undefined
      ? 'true'
      : `repo_full_name IN (SELECT repo_full_name FROM (${offSiteCopies('newest')}) AS copies WHERE is_${offSite})`;
  const needsProof = proof !== undefined || order === 'proof';
  const proven = proof === undefined ? 'true' : `proof.state = ${parameter(proof)}`;
  const inState = state === undefined ? 'true' : `state = ${parameter(state)}`;
  const sorted = orderBy(order, isReverse);
  const onPage = `AS repository ORDER BY ${sorted} LIMIT $1::bigint OFFSET $2::bigint`;
  const needsStates = state !== undefined || order === 'worst' || order === 'last_good';
  const ctes = [
    `WITH ${forgotten ? newestForgotten : newestResults}`,
    judgingBy('$3', '$4', '$5'),
    `listed AS (SELECT * FROM newest WHERE ${named} AND ${copied})`,
    needsProof
      ? `named AS (
          SELECT listed.*, proof.state AS proof_state, proof.proven_at FROM listed
          JOIN (${proofStates('listed', JUDGED_AT)}) AS proof USING (repo_full_name) WHERE ${proven})`
      : 'named AS (SELECT * FROM listed)',
    ...(needsStates
      ? [
          `fitting AS (SELECT * FROM (${withStates('named')}) AS known WHERE ${inState})`,
          `repository AS (SELECT * FROM fitting ${onPage})`,
        ]
      : [`chosen AS (SELECT * FROM named ${onPage})`, `repository AS (${withStates('chosen')})`]),
  ];
  const statement = {
    name: [
      'repositories',
      order,
      isReverse ? 'reverse' : '',
      text === undefined ? '' : 'text',
      state === undefined ? '' : 'state',
      proof === undefined ? '' : 'proof',
      offSite ?? '',
      forgotten ? 'forgotten' : '',
    ].join('_'),
    text: `${ctes.join(',\n')}
      SELECT ${jsonArray(`SELECT ${repositoryColumns} FROM repository ORDER BY ${sorted}`)} AS items,
        (SELECT count(*) FROM ${needsStates ? 'fitting' : 'named'})::text AS total`,
  };
  return readPage(db, statement, values);
}

/** The row of `newest` with a name in any letter case: the exact spelling if there are several, else the newest. */
const namedExactly = `SELECT * FROM newest WHERE lower(repo_full_name) = lower($1)
  ORDER BY repo_full_name = $1 DESC, created_at DESC, result_id DESC LIMIT 1`;

const oneRepository: Statement = {
  name: 'repository',
  text: `WITH ${newestOfAll},
    ${judgingBy('$2', '$3', '$4')},
    chosen AS (${namedExactly}),
    repository AS (${withStates('chosen')})
    SELECT ${jsonObject(`SELECT ${repositoryColumns}, ${wouldLose} AS would_lose,
      ${forgottenColumn} FROM repository`)} AS item`,
};

/** A repository by its name in any letter case, even if it is forgotten; null when there is none. */
export function readRepository(
  db: Database,
  name: string,
  judging: Judging,
): Promise<string | null> {
  return readObject(db, oneRepository, [name, ...judgingValues(judging)]);
}

const counts: Statement = {
  name: 'repository_state_counts',
  text: `WITH ${newestResults},
    ${judgingBy('$1', '$2', '$3')},
    known AS (${withStates('newest')})
    SELECT ${jsonObject(stateCountsSql('known'))} AS item`,
};

/** How many tracked repositories there are, in total and in each state. */
export type StateCounts = Record<RepositoryState | 'total', number>;

/** Counts the tracked repositories by their states. Waits for at most `timeoutMs`. */
export async function countStates(
  db: Database,
  judging: Judging,
  timeoutMs?: number,
): Promise<StateCounts> {
  const options = timeoutMs === undefined ? {} : { timeoutMs };
  const [row] = await db.query<{ item: string }>(counts, judgingValues(judging), options);
  if (!row) throw new Error(`${counts.name} returned no row`);
  return JSON.parse(row.item);
}
