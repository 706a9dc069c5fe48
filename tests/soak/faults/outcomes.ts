import { type Fault, faults } from '../../support/fault-proxy.ts';

// What happens when a part breaks, by part, use and fault. The suite checks each combination, and the table in
// docs/troubleshooting.md is generated from it.

/** The names of the parts in the table. */
export const parts = {
  postgres: 'Postgres',
  neon: 'Neon',
  redis: 'Redis',
  gateway: 'The model gateway',
  mail: 'The mail service',
  gitHost: 'The git host',
} as const;
export type Part = keyof typeof parts;

/** The names of the uses in the table. */
export const uses = {
  health: '`/health`',
  ready: '`/ready`',
  observatoryReady: '`/observatory/ready`',
  serviceApi: 'the service API',
  openStream: 'opening a log stream',
  openSocket: 'opening a WebSocket',
  runningStream: 'a log stream that is open',
  runningSocket: 'a WebSocket that is open',
  login: 'logging in to the observatory',
  sessions: 'sessions',
  search: 'search',
  rerank: 'search with reranking',
  models: 'the lists of models',
  processBatch: '`process-batch`',
  connectKey: 'connecting a gateway key',
  chat: 'a question to the chat',
  runningChat: 'an answer that is being streamed',
  confirmable: 'a mail that the chat asks approval for',
  confirmation: 'approving a mail in the chat',
  report: 'mailing a report',
  readTool: 'MCP tools that read',
  healthTool: '`get_system_health`',
  searchTool: '`search_backup_knowledge`',
  triggerTool: '`trigger_backup_run`',
  reportTool: '`send_backup_report`',
  startRun: 'starting a backup run',
  underWayRun: 'a backup run under way',
  discover: 'discovery',
  clone: 'the backup of a repository',
  logIn: '`login github`',
} as const;
export type Use = keyof typeof uses;

/** The maximum duration, for the suite and in words. */
export const limits = {
  soon: { seconds: 3, words: '' },
  watched: { seconds: 30, words: '' },
  redis: { seconds: 4, words: '3 s' },
  ready: { seconds: 3, words: '3 s' },
  database: { seconds: 16, words: '15 s' },
  search: { seconds: 6, words: '5 s' },
  gateway: { seconds: 6, words: '30 s for each request' },
  mail: { seconds: 16, words: '15 s' },
  retries: { seconds: 20, words: '15 s' },
  hostHangs: { seconds: 200, words: '3 minutes' },
  // Three attempts of 2 minutes each.
  cloneHangs: { seconds: 440, words: '7 minutes' },
} as const;
export type Limit = keyof typeof limits;

/** One cell of the table. If there are several alternatives, any of them is correct. */
export interface Outcome {
  seen: string | readonly string[];
  /** What is stored afterwards; empty if there is nothing notable. */
  stored: string | readonly string[];
  limit: Limit;
}

/** `not used`: works without the part. */
export type Outcomes = Record<Fault, Outcome> | 'not used';

const works = (stored = ''): Outcome => ({ seen: 'works', stored, limit: 'soon' });

/** The same outcome for every fault except slowness, which only causes delays. */
function broken(
  seen: Outcome['seen'],
  { stored = '', slow = works(), limit = 'soon', ...differing }: Differing = {},
): Outcomes {
  const cell = (fault: Fault): Outcome => ({
    seen,
    stored,
    // Only a part that does not answer at all causes a wait.
    limit: fault === 'hangs' || limit === 'watched' || limit === 'retries' ? limit : 'soon',
    ...differing[fault as keyof typeof differing],
  });
  const cells = faults.map((fault) => [fault, fault === 'slow' ? slow : cell(fault)] as const);
  return Object.fromEntries(cells) as Record<Fault, Outcome>;
}

interface Differing extends Partial<Record<Exclude<Fault, 'slow'>, Partial<Outcome>>> {
  stored?: Outcome['stored'];
  slow?: Outcome;
  limit?: Limit;
}

const always = (stored = ''): Outcomes => broken('works', { stored, slow: works(stored) });

const away = broken('503 SERVICE_UNAVAILABLE', { limit: 'database' });
const toolAway = 'tool error: the database is unavailable';
const staysOpen = broken('stays open, rows come later', {
  limit: 'watched',
  slow: { ...works(), limit: 'watched' },
});

/** The database, with any driver. */
const database: Record<Use, Outcomes> = {
  health: always(),
  ready: broken('503 disconnected', { limit: 'ready' }),
  observatoryReady: broken('503 unreachable', { limit: 'ready' }),
  serviceApi: away,
  openStream: away,
  openSocket: away,
  runningStream: staysOpen,
  runningSocket: staysOpen,
  login: away,
  sessions: away,
  search: broken('503 SERVICE_UNAVAILABLE', { limit: 'search' }),
  rerank: broken('503 SERVICE_UNAVAILABLE', { limit: 'search' }),
  models: away,
  processBatch: broken('503 SERVICE_UNAVAILABLE', {
    limit: 'database',
    slow: { ...works(), limit: 'database' },
  }),
  connectKey: broken('503 SERVICE_UNAVAILABLE', { limit: 'database', slow: works('the key') }),
  chat: broken('503 SERVICE_UNAVAILABLE', {
    stored: 'nothing',
    limit: 'database',
    slow: works('the turn, completed'),
  }),
  runningChat: broken('the stream ends with INTERNAL_ERROR', {
    stored: 'the question alone',
    limit: 'database',
    resets: { stored: ['the question alone', 'the turn, completed'] },
    slow: works('the turn, completed'),
  }),
  confirmable: away,
  confirmation: broken('works', { stored: 'not mailed', slow: works('mailed') }),
  report: broken('503 SERVICE_UNAVAILABLE', {
    stored: 'nothing; not mailed',
    limit: 'database',
    slow: works('the report, sent; mailed'),
  }),
  readTool: broken(toolAway, { limit: 'database' }),
  healthTool: broken('works: UNHEALTHY', { limit: 'ready' }),
  searchTool: broken(toolAway, { limit: 'search' }),
  triggerTool: broken(toolAway, {
    stored: 'nothing',
    limit: 'database',
    resets: { stored: ['nothing', 'the request'] },
    slow: works('the request'),
  }),
  reportTool: broken('tool error: the observatory answered 503: the database is unavailable', {
    stored: 'not mailed',
    limit: 'database',
    hangs: {
      seen: [
        'tool error: the observatory answered 503: the database is unavailable',
        'tool error: the observatory did not answer within 15 seconds',
      ],
    },
    slow: works('mailed'),
  }),
  startRun: broken('works, and is delivered by the next run', {
    stored: 'no run',
    limit: 'watched',
    // A run whose start the worker did not learn of is taken over by the next one after 3 minutes.
    resets: { stored: ['no run', 'an abandoned run for 3 minutes'] },
    slow: { ...works('no run'), limit: 'watched' },
  }),
  underWayRun: broken('waits, then works', {
    stored: 'the run, completed',
    limit: 'watched',
    slow: {
      seen: ['works', 'waits, then works'],
      stored: 'the run, completed',
      limit: 'watched',
    },
  }),
  discover: 'not used',
  clone: 'not used',
  logIn: 'not used',
};

const notUsed = Object.fromEntries(Object.keys(uses).map((use) => [use, 'not used'])) as Record<
  Use,
  Outcomes
>;

const everywhere = Object.fromEntries(
  Object.keys(uses).map((use) => [use, broken('works', { limit: 'redis' })]),
) as Record<Use, Outcomes>;

const { startRun, underWayRun, discover, clone, logIn } = notUsed;

/** Without Redis, each process counts requests, failed logins and database use separately. */
const redis: Record<Use, Outcomes> = {
  ...everywhere,
  ...{ startRun, underWayRun, discover, clone, logIn },
  runningStream: broken('works', { limit: 'watched' }),
  runningSocket: broken('works', { limit: 'watched' }),
  connectKey: broken('works', { stored: 'the key', slow: works('the key'), limit: 'redis' }),
  chat: always('the turn, completed'),
  runningChat: always('the turn, completed'),
  confirmable: broken(
    'works, but the tool does not run: Approval could not be requested, because its store does not answer. It did not run.',
    { limit: 'redis' },
  ),
  confirmation: broken('503 SERVICE_UNAVAILABLE', {
    stored: 'approved again: works; mailed',
    limit: 'redis',
    resets: { stored: 'approved again: 409 CONFLICT; mailed' },
    slow: works('mailed'),
  }),
  report: always('the report, sent; mailed'),
  triggerTool: always('the request'),
  reportTool: always('mailed'),
};

const silent = 'the model gateway does not answer';
const failed = 'the model gateway failed';
const unembedded = (reason: string) =>
  `works, degraded: the query could not be embedded: ${reason}`;
const streamEnds = broken('the stream ends with GATEWAY_UNAVAILABLE', {
  stored: 'the turn, failed',
  limit: 'gateway',
  slow: works('the turn, completed'),
});

const gateway: Record<Use, Outcomes> = {
  ...notUsed,
  search: broken(unembedded(silent), { limit: 'gateway', page: { seen: unembedded(failed) } }),
  rerank: broken(`${unembedded(silent)}; reranking failed: ${silent}`, {
    limit: 'gateway',
    page: { seen: `${unembedded(failed)}; reranking failed: ${failed}` },
  }),
  models: always(),
  processBatch: broken('502 GATEWAY_UNAVAILABLE', {
    limit: 'gateway',
    page: { seen: '502 GATEWAY_ERROR' },
  }),
  connectKey: broken('502 GATEWAY_EXCHANGE_UNAVAILABLE', {
    limit: 'gateway',
    slow: works('the key'),
  }),
  chat: streamEnds,
  runningChat: streamEnds,
  confirmable: broken('the stream ends with GATEWAY_UNAVAILABLE', { limit: 'gateway' }),
  confirmation: always('mailed'),
  searchTool: broken(unembedded(silent), { limit: 'gateway', page: { seen: unembedded(failed) } }),
};

const notMailed = 'report … was not mailed: the mail service did not answer';
const without = (why: string) => `works, but the tool does not run: ${why}`;

const mail: Record<Use, Outcomes> = {
  ...notUsed,
  confirmable: broken(without(notMailed), {
    limit: 'mail',
    hangs: { seen: without(`${notMailed} within 15 seconds`) },
  }),
  confirmation: broken('works', {
    stored: 'not mailed',
    hangs: { stored: ['not mailed', 'mailed'] },
    resets: { stored: 'mailed' },
    slow: works('mailed'),
  }),
  report: broken('502 EMAIL_DELIVERY_FAILED', {
    stored: 'the report, failed; not mailed',
    limit: 'mail',
    // The service accepted the mail, but the response was lost. If it is sent again, it is still mailed only once.
    resets: { stored: 'the report, failed; mailed' },
    slow: works('the report, sent; mailed'),
  }),
  reportTool: broken(`tool error: the observatory answered 502: ${notMailed}`, {
    stored: 'not mailed',
    limit: 'mail',
    hangs: { seen: 'tool error: the observatory did not answer within 15 seconds' },
    resets: { stored: 'mailed' },
    slow: works('mailed'),
  }),
};

const hostSilent = 'exit code 1: the git host does not answer';
const hostForeign = 'exit code 1: the git host sent an unexpected response';

const gitHost: Record<Use, Outcomes> = {
  ...notUsed,
  discover: broken(hostSilent, {
    stored: 'the run, failed',
    limit: 'retries',
    hangs: { limit: 'hostHangs' },
    page: { seen: hostForeign },
    slow: { ...works('the run, completed'), limit: 'watched' },
  }),
  clone: broken('exit code 1: the repository failed', {
    stored: 'the run, completed, its repository failed',
    limit: 'retries',
    hangs: { limit: 'cloneHangs' },
    slow: { ...works('the run, completed, its repository completed'), limit: 'watched' },
  }),
  logIn: broken(hostSilent, {
    hangs: { limit: 'hostHangs' },
    page: { seen: hostForeign },
  }),
};

/** All combinations. */
export const outcomes: Record<Part, Record<Use, Outcomes>> = {
  postgres: database,
  neon: database,
  redis,
  gateway,
  mail,
  gitHost,
};
