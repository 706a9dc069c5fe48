import type { GitFault } from '../../git/git.ts';

/** Why a repository failed, for the person who has to fix it. */
const faultKinds = [
  'login',
  'missing',
  'rate limit',
  'host',
  'network',
  'certificate',
  'program',
  'disk',
  'memory',
  'folder',
  'archive',
  'shallow',
  'partial',
  'grafted',
  'format',
  'proxy',
  'damaged',
  'emptied',
  'push',
  'store',
  'other',
] as const;
export type FaultKind = (typeof faultKinds)[number];

/** Whether it is the kind of a failure: other programs may record others. */
export function isFaultKind(text: string): text is FaultKind {
  return faultKinds.some((kind) => kind === text);
}

/** What kind of failure it is, and how to react to it. */
export interface Fault {
  kind: FaultKind;
  /** Whether another try may succeed within minutes. */
  isTransient: boolean;
  /** Whether the host should get fewer requests at once. */
  isOverload: boolean;
  /** Milliseconds that the host asked to wait; null if it did not. */
  retryAfterMs: number | null;
}

const MAX_RETRY_AFTER_SECONDS = 15 * 60;

/**
 * The first match counts: git also reports the consequences of a fault, so a repository that is damaged on its host
 * also reads like a connection that ended early.
 */
const kinds: readonly [FaultKind, RegExp][] = [
  [
    'archive',
    /^(?:the archive is damaged|a new (?:version|archive) was made, (?:but the archive is|because the one before) )/,
  ],
  [
    'disk',
    /no space left on device|out of diskspace|not enough (?:disk )?space|disk quota exceeded|\b(?:ENOSPC|EDQUOT)\b/i,
  ],
  [
    'memory',
    /^git [\w-]+ was stopped by SIGKILL|\bdied of signal 9\b|out of memory|cannot allocate memory/i,
  ],
  [
    'folder',
    /waited for a file system|read-only file system|input\/output error|stale file handle|insufficient permission for adding|unable to (?:create|write|open|append to) .{0,300}: permission denied|may not be read by the user that runs the worker|belongs to another user|\b(?:EROFS|EACCES|EPERM|EIO|ESTALE|ENODEV|ENOTCONN)\b/i,
  ],
  ['shallow', /\brepository is shallow\b/i],
  ['partial', /^the repository is a partial clone\b/],
  ['grafted', /^the repository hides a part of its history with grafts\b/],
  ['damaged', /^the repository is damaged: /],
  ['format', /^the repository (?:is in a format that this git does not read|uses the extension)\b/],
  [
    'proxy',
    /CONNECT tunnel failed|from proxy after CONNECT|proxy CONNECT aborted|could not resolve proxy|establish tunnel|the proxy answered|returned error: 407\b/i,
  ],
  [
    'rate limit',
    /rate limit|too many requests|abuse detection|\b(?:returned error:|HTTP|answered) 429\b/i,
  ],
  ['emptied', /^the repository is empty now, and was not before/],
  ['missing', /access lost|disabled this repository|\brepository was renamed\b/i],
  ['program', /waited for the program/],
  [
    'login',
    /authentication failed|could not read (?:username|password)|permission denied|access denied|invalid credentials|host key verification failed|\b(?:returned error:|HTTP|answered) (?:401|403)\b/i,
  ],
  [
    'missing',
    /repository .{0,300}not found|repository not found|does not appear to be a git repository|there is no folder|is no git repository, and holds none|and no git (?:bundle that can be read|repository)$|leads back to itself|^it is a (?:worktree|submodule) of |does not exist|project you were looking for|\b(?:returned error:|HTTP|answered) (?:404|410|451)\b/i,
  ],
  [
    'certificate',
    /certificate (?:problem|verification failed|has expired|is not yet valid)|certificate verify|no alternative certificate subject name|self[- ]signed certificate/i,
  ],
  [
    'damaged',
    /\bis corrupt\b|corrupt(?:ed)? (?:loose )?object|bad (?:object|tree|blob|commit)|loose object .{0,200} is empty|missing (?:blob|tree|commit|object)|a ref of the repository points to|did not receive expected object|unable to read [0-9a-f]{40}|(?:pack|object) .{0,200}(?:mismatch|is invalid)|inflate(?:d)?[: ].{0,40}(?:error|data)|did not send all necessary objects|pack-objects died|fsck error|error in object/i,
  ],
  [
    'host',
    /\b(?:returned error:|HTTP|answered) 5\d\d\b|\b(?:returned error:|HTTP) 408\b|internal server error|bad gateway|service unavailable|gateway time-?out|internal error|sent an unexpected response/i,
  ],
  [
    'network',
    /could not resolve host|name resolution|(?:failed|could not|couldn't|unable) to connect|connect to host .{0,300}port|connection (?:was )?(?:refused|reset|closed|aborted|timed out)|(?:network|host) is unreachable|no route to host|broken pipe|timed out|operation too slow|time-?out was reached|no data for|SSL_ERROR_SYSCALL|unexpected eof while reading|(?:gnutls|ssl|tls)[ _-](?:recv|read|send|write|handshake|connect)|TLS connection was non-properly terminated|empty reply from server|unexpected disconnect|early EOF|hung up (?:unexpectedly|upon)|transfer closed with outstanding|HTTP\/2 (?:stream|framing)|does not answer|\bRPC failed; curl (?:5|6|7|18|28|35|52|55|56|92)\b|git ls-remote did not end in time/i,
  ],
];

const connectionReset = /connection (?:was )?(?:reset|closed by)|curl (?:56|92)\b/i;
const retryAfter = /retry[- _]?after\W{1,3}(\d{1,6})\b/i;

/** Classifies a failure of git, the git host's API or the file system by its message. */
export function classifyFault(message: string, fault: GitFault = 'failed'): Fault {
  const found = kinds.find(([, pattern]) => pattern.test(message));
  const kind = fault === 'missing' || fault === 'output' ? 'other' : (found?.[0] ?? 'other');
  // What did not even answer would most likely hold up this run once more.
  const isTransient =
    fault !== 'stalled' && (kind === 'rate limit' || kind === 'host' || kind === 'network');
  const isOverload = kind === 'rate limit' || (kind === 'network' && connectionReset.test(message));
  const [, seconds] = (isTransient && retryAfter.exec(message)) || [];
  const waitMs = Math.min(Number(seconds), MAX_RETRY_AFTER_SECONDS) * 1_000;
  return { kind, isTransient, isOverload, retryAfterMs: seconds === undefined ? null : waitMs };
}
