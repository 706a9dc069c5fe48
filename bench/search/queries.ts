import { type CorpusLog, commitOf } from './corpus.ts';

/** A query and what it should find, labelled by topic and repository and not by any ranker. */
export interface LabelledQuery {
  kind: 'words' | 'identifier' | 'error code' | 'typo' | 'other form' | 'partial';
  query: string;
  /** 2: exactly what is meant; 1: related; 0: unrelated. */
  grade(log: CorpusLog): 0 | 1 | 2;
}

type Kind = LabelledQuery['kind'];

/** Looks for the lines of a topic. If a repository is given, its lines on the topic are the best. */
const about = (kind: Kind, query: string, topic: string, repository?: string): LabelledQuery => ({
  kind,
  query,
  grade: (log) => {
    if (log.topic !== topic) return 0;
    if (repository === undefined) return 2;
    return log.repository === repository ? 2 : 0;
  },
});

/** Looks for lines with a certain commit or exact text. */
const exactly = (kind: Kind, query: string, text: string): LabelledQuery => ({
  kind,
  query,
  grade: (log) => (log.message.includes(text) ? 2 : 0),
});

/** Looks for everything that happened to a repository, errors first. */
const of = (kind: Kind, query: string, repository: string): LabelledQuery => ({
  kind,
  query,
  grade: (log) => {
    if (log.repository !== repository) return 0;
    return log.level === 'error' || log.level === 'warn' ? 2 : 1;
  },
});

/** 72 queries as people type them: in a hurry, half remembered, pasted from a terminal. */
export const labelledQueries: readonly LabelledQuery[] = [
  about('error code', 'ECONNRESET', 'reset'),
  about('error code', 'ENOTFOUND git.example', 'dns'),
  exactly('error code', 'exit status 128', 'exit status 128'),
  exactly('error code', '"exit status 128"', 'exit status 128'),
  about('error code', 'ENOSPC', 'disk'),
  exactly('error code', 'ETIMEDOUT', 'ETIMEDOUT'),
  exactly('error code', 'CERT_HAS_EXPIRED', 'CERT_HAS_EXPIRED'),
  exactly('error code', 'HTTP 429', 'HTTP 429'),
  exactly('error code', 'HTTP 401', 'HTTP 401'),
  exactly('error code', 'GH001', 'GH001'),
  exactly('error code', 'signal 9', 'signal 9'),
  exactly('error code', 'index.lock', 'index.lock'),

  of('identifier', 'acme/site-backend', 'acme/site-backend'),
  of('identifier', 'globex/data-pipeline', 'globex/data-pipeline'),
  of('identifier', 'initech/docs-portal', 'initech/docs-portal'),
  about('identifier', 'acme/billing-api checksum mismatch', 'checksum', 'acme/billing-api'),
  about('identifier', 'globex/mobile-app out of memory', 'memory', 'globex/mobile-app'),
  about(
    'identifier',
    'initech/auth-gateway credentials rejected',
    'authentication',
    'initech/auth-gateway',
  ),
  about('identifier', 'acme/design-system timed out', 'timeout', 'acme/design-system'),
  about('identifier', 'globex/report-mailer too large', 'large', 'globex/report-mailer'),
  exactly(
    'identifier',
    '/var/lib/archives/acme/docs-portal.bundle',
    'archives/acme/docs-portal.bundle',
  ),
  exactly('identifier', commitOf('acme/mobile-app', 'done'), commitOf('acme/mobile-app', 'done')),
  exactly(
    'identifier',
    commitOf('globex/docs-portal', 'webhook'),
    commitOf('globex/docs-portal', 'webhook'),
  ),

  exactly(
    'partial',
    commitOf('initech/billing-api', 'done').slice(0, 8),
    commitOf('initech/billing-api', 'done'),
  ),
  exactly(
    'partial',
    commitOf('acme/search-indexer', 'checksum').slice(0, 7),
    commitOf('acme/search-indexer', 'checksum'),
  ),
  exactly(
    'partial',
    commitOf('globex/auth-gateway', 'webhook').slice(0, 10),
    commitOf('globex/auth-gateway', 'webhook'),
  ),
  about('partial', 'design-system memory', 'memory', 'acme/design-system'),
  about('partial', 'ECONNRES', 'reset'),
  about('partial', 'authenticat', 'authentication'),
  about('partial', 'certif', 'certificate'),
  about('partial', 'heartb', 'heartbeat'),
  about('partial', 'checks mismatch', 'checksum'),
  about('partial', 'webho deliv', 'webhook'),
  about('partial', 'archive vol full', 'disk'),
  about('partial', 'acme/infra checksum', 'checksum', 'acme/infra-terraform'),

  about('typo', 'autentication failed', 'authentication'),
  about('typo', 'athentication faild', 'authentication'),
  about('typo', 'certficate expired', 'certificate'),
  about('typo', 'certificat has expierd', 'certificate'),
  about('typo', 'rate limt exceded', 'quota'),
  about('typo', 'no spcae left on devise', 'disk'),
  about('typo', 'checksm mismach', 'checksum'),
  about('typo', 'conection closed unexpectdly', 'reset'),
  about('typo', 'could not reslove host', 'dns'),
  about('typo', 'repositry not fuond', 'missing'),
  about('typo', 'hartbeat queue', 'heartbeat'),
  about('typo', 'out of memmory', 'memory'),
  about('typo', 'opertion timed out', 'timeout'),
  about('typo', 'webook delivery', 'webhook'),
  about('typo', 'acme/site-bakend timed out', 'timeout', 'acme/site-backend'),
  about('typo', 'globex/billing-apii memory', 'memory', 'globex/billing-api'),

  about('other form', 'authenticating fails', 'authentication'),
  about('other form', 'rejecting credential', 'authentication'),
  about('other form', 'rate limiting', 'quota'),
  about('other form', 'certificates expiring', 'certificate'),
  about('other form', 'connections closing unexpectedly', 'reset'),
  about('other form', 'resolving hosts', 'dns'),
  about('other form', 'corrupted packs', 'checksum'),
  about('other form', 'timing out operations', 'timeout'),
  about('other form', 'skipping when no ref moves', 'unchanged'),
  about('other form', 'killing index-pack with little memory', 'memory'),
  about('other form', 'exceeding size limits pushed files', 'large'),
  about('other form', 'queueing webhooks', 'webhook'),

  about('words', 'the archive volume is full', 'disk'),
  about('words', 'another process is running lock', 'lock'),
  about('words', 'clone not found', 'missing'),
  about('words', 'pack is corrupt', 'checksum'),
  about('words', 'remote closed the connection', 'reset'),
  about('words', 'verify the first certificate', 'certificate'),
  about('words', 'push rejected size limit', 'large'),
  about('words', 'stored archive verified', 'done'),
  about('words', 'too many requests retry later', 'quota'),
];
