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
import { forgottenColumn } from './forgotten.ts';
import {
  type Judging,
  judgingBy,
  judgingValues,
  type RepositoryState,
  repositoryColumns,
  stateCounts,
  withStates,
  worstFirst,
} from './repository-states.ts';
import { wouldLose } from './would-lose.ts';

const orders = {
  size: 'coalesce(repository.archive_size_bytes, 0) DESC, repository.created_at DESC, repository.result_id DESC',
  name: 'lower(repository.repo_full_name), repository.repo_full_name',
  newest: 'repository.created_at DESC, repository.result_id DESC',
  worst: worstFirst,
} as const;

/** How a list of repositories can be ordered. */
export const repositoryOrders = Object.keys(orders) as (keyof typeof orders)[];

/** Selects and orders repositories. */
export interface RepositorySelection extends Judging {
  /** Part of the name, case-insensitive. */
  text?: string | undefined;
  state?: RepositoryState | undefined;
  /** Whether to select forgotten repositories instead of tracked ones. */
  forgotten?: boolean | undefined;
  order: keyof typeof orders;
}

/**
 * The repositories that match, each with its newest result and its state. Unless states are needed to filter or order,
 * they are looked up only for the page.
 */
export function listRepositories(
  db: Database,
  request: PageRequest,
  { text, state, forgotten = false, order, ...judging }: RepositorySelection,
): Promise<Page> {
  const values: SqlValue[] = [request.limit, pageOffset(request), ...judgingValues(judging)];
  const parameter = (value: SqlValue) => `$${values.push(value)}`;
  const named =
    text === undefined
      ? 'true'
      : `strpos(lower(repo_full_name), lower(${parameter(text)}::text)) > 0`;
  const inState = state === undefined ? 'true' : `state = ${parameter(state)}`;
  const onPage = `AS repository ORDER BY ${orders[order]} LIMIT $1::bigint OFFSET $2::bigint`;
  const needsStates = state !== undefined || order === 'worst';
  const ctes = [
    `WITH ${forgotten ? newestForgotten : newestResults}`,
    judgingBy('$3', '$4', '$5'),
    `named AS (SELECT * FROM newest WHERE ${named})`,
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
      text === undefined ? '' : 'text',
      state === undefined ? '' : 'state',
      forgotten ? 'forgotten' : '',
    ].join('_'),
    text: `${ctes.join(',\n')}
      SELECT ${jsonArray(`SELECT ${repositoryColumns} FROM repository ORDER BY ${orders[order]}`)} AS items,
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
    SELECT ${jsonObject(stateCounts('known'))} AS item`,
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
