import { cleanText } from '../../../text/clean-text.ts';
import type { FaultKind } from '../../base/git-faults.ts';

/** A repository that failed. */
export interface FailedRepository {
  repository: string;
  kind: FaultKind;
  errorMessage: string;
  /** Whether its archive was lost, and a new one was made. */
  isRemade?: boolean;
}

/** A source that was given and never read: no repository, so that there is none to forget. */
export interface NeverRead {
  /** Its path or address. */
  source: string;
  kind: FaultKind;
  errorMessage: string;
}

const MAX_NAMES = 10;

/** The name of each kind of failure, and what to do about it; `ofSource` for a source that was never read. */
const advice: Record<FaultKind, { what: string; todo: string; ofSource?: string }> = {
  login: {
    what: 'access was denied',
    todo: 'log in again (npm run worker -- login github), or check the credentials of git',
  },
  program: {
    what: 'a program that git asked did not answer',
    todo: 'run git ls-remote with the address by hand, and mend the credential helper, the askpass program or ssh that waits',
  },
  missing: {
    what: 'not found, or access lost',
    todo: 'check the address, and that the login or the app may read it; if it was removed on purpose: npm run worker -- forget OWNER/NAME',
    ofSource:
      'check the path or address in --source, and that this user or its credentials may read it',
  },
  'rate limit': {
    what: 'the host limits requests',
    todo: 'lower BACKUP_CONCURRENCY, or run less often',
  },
  host: { what: 'the host has a fault', todo: 'nothing, if the next run succeeds' },
  network: {
    what: 'the network failed',
    todo: 'check the connection; nothing, if the next run succeeds',
  },
  certificate: {
    what: 'the certificate of the host is not valid',
    todo: 'renew it, or trust its issuer: name a PEM file in NODE_EXTRA_CA_CERTS',
  },
  disk: {
    what: 'the disk is full',
    todo: 'free space, or set BACKUP_ARCHIVE_PATH and DATA_DIR to another file system',
  },
  memory: {
    what: 'memory ran out',
    todo: 'give the worker more memory, or lower BACKUP_CONCURRENCY',
  },
  folder: {
    what: 'a file or folder cannot be read or written',
    todo: 'check that its file system is mounted and writable, and that this user may use it',
  },
  archive: {
    what: 'the archive was damaged, altered or lost',
    todo: 'the log names what is missing: put it back from a copy of the archive folder, or restore what a store has (npm run worker -- restore OWNER/NAME --from STORE --to FOLDER); while the source exists, you can move the archive away, and the next run makes a new one',
  },
  shallow: {
    what: 'a shallow clone, whose history is incomplete',
    todo: 'run `git fetch --unshallow` in it, or back up what it was cloned from',
  },
  partial: {
    what: 'a partial clone, which lacks objects',
    todo: 'back up what it was cloned from, or complete it as the log says',
  },
  grafted: {
    what: 'its history is cut off by grafts',
    todo: 'run `git replace --convert-graft-file` in it',
  },
  format: {
    what: 'its format is not one that this git reads',
    todo: 'the log names it; upgrade git, here or where the repository is',
  },
  proxy: {
    what: 'the proxy refused the connection or cannot be reached',
    todo: 'check HTTPS_PROXY, HTTP_PROXY and NO_PROXY; `npm run doctor` shows what is in effect',
  },
  damaged: {
    what: 'the repository is damaged at its source',
    todo: 'run `git fsck` where it comes from; earlier versions stay in the archive, if there is one',
  },
  emptied: {
    what: 'emptied at the source, the archive is kept',
    todo: 'find out who did it; `restore` brings back what it had; move the archive away to accept it',
  },
  push: {
    what: 'backed up, but not pushed',
    todo: 'see the reasons in the log; the next run pushes again',
  },
  store: {
    what: 'backed up, but not stored off-site',
    todo: 'see the reasons in the log; the next run stores what is missing',
  },
  other: { what: 'for a reason that the log names', todo: 'see the log' },
};

/** The next run finds a good archive: there is nothing to put back. */
const remade: (typeof advice)[FaultKind] = {
  what: 'the archive was lost, and a new one was made from the source',
  todo: 'earlier versions are only in copies: restore those of a store (npm run worker -- restore OWNER/NAME --from STORE --to FOLDER), or of an archive that was set aside (docs/archives.md); the next run fails no more for this',
};

/**
 * The failures, grouped by reason with the largest group first, and what to do about them; then the sources that were
 * never read. Empty if nothing failed.
 */
export function describeFailures(
  failures: readonly FailedRepository[],
  unread: readonly NeverRead[] = [],
): string[] {
  return [
    ...describeGroups(
      failures,
      ({ repository }) => repository,
      ({ what, todo }, names) => [`Failed, ${what}: ${names}`, `  ${todo}`],
    ),
    ...describeGroups(
      unread,
      ({ source }) => source,
      ({ what, todo, ofSource = todo }, names) => [
        `Source not read, ${what}: ${names}`,
        `  ${ofSource}`,
      ],
    ),
  ];
}

function describeGroups<Failed extends { kind: FaultKind; isRemade?: boolean }>(
  failures: readonly Failed[],
  nameOf: (failed: Failed) => string,
  describe: (advised: (typeof advice)[FaultKind], names: string) => string[],
): string[] {
  const groups = Map.groupBy(failures, ({ kind, isRemade }) =>
    isRemade === true ? remade : advice[kind],
  );
  return [...groups]
    .sort(([, some], [, others]) => others.length - some.length)
    .flatMap(([advised, failed]) => {
      const names = failed.slice(0, MAX_NAMES).map((one) => cleanText(nameOf(one), 250));
      const more = failed.length > MAX_NAMES ? ` and ${failed.length - MAX_NAMES} more` : '';
      return describe(advised, `${names.join(', ')}${more}`);
    });
}
