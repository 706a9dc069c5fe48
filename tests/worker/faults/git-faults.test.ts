import { describe, expect, it } from 'vitest';
import { classifyFault, type FaultKind } from '../../../lib/worker/base/git-faults.ts';

// What git 2.39 to 2.47, curl, OpenSSH and git hosts write, as the worker joins its lines.
const messages: [FaultKind, string][] = [
  [
    'network',
    "fatal: unable to access 'https://example.org/a/b.git/': Could not resolve host: example.org",
  ],
  [
    'network',
    "fatal: unable to access 'https://127.0.0.1:1/a/b.git/': Failed to connect to 127.0.0.1 port 1 after 0 ms: Couldn't connect to server",
  ],
  [
    'network',
    "fatal: unable to access 'https://example.org/a/b.git/': Recv failure: Connection reset by peer",
  ],
  [
    'network',
    "fatal: unable to access 'https://example.org/a/b.git/': Operation timed out after 300029 milliseconds with 0 out of 0 bytes received",
  ],
  [
    'network',
    'error: RPC failed; curl 28 Operation too slow. Less than 1000 bytes/sec transferred the last 120 seconds fatal: expected flush after ref listing',
  ],
  ['network', "fatal: unable to access 'https://example.org/a/b.git/': Empty reply from server"],
  [
    'network',
    "fatal: unable to access 'https://example.org/a/b.git/': OpenSSL SSL_connect: SSL_ERROR_SYSCALL in connection to example.org:443",
  ],
  [
    'network',
    "fatal: unable to access 'https://example.org/a/b.git/': GnuTLS recv error (-110): The TLS connection was non-properly terminated.",
  ],
  [
    'network',
    'error: RPC failed; curl 18 transfer closed with outstanding read data remaining error: 1024 bytes of body are still expected fetch-pack: unexpected disconnect while reading sideband packet fatal: early EOF fatal: fetch-pack: invalid index-pack output',
  ],
  [
    'network',
    'error: RPC failed; curl 92 HTTP/2 stream 5 was not closed cleanly: CANCEL (err 8) fatal: early EOF fatal: index-pack failed',
  ],
  [
    'network',
    'ssh: connect to host example.org port 22: Connection refused fatal: Could not read from remote repository. Please make sure you have the correct access rights and the repository exists.',
  ],
  [
    'network',
    'ssh: Could not resolve hostname example.org: Temporary failure in name resolution fatal: Could not read from remote repository.',
  ],
  [
    'network',
    'kex_exchange_identification: Connection closed by remote host fatal: Could not read from remote repository.',
  ],
  ['network', 'fatal: the remote end hung up unexpectedly'],
  ['network', 'git ls-remote did not end in time and was stopped'],
  ['network', 'git fetch moved no data for 5 min and was stopped: it waited for the other side'],
  ['network', 'git fetch moved no data for 5 min and was stopped: it waited for ssh'],
  [
    'program',
    'git fetch moved no data for 5 min and was stopped: it waited for the program sleep, such as a credential helper',
  ],
  ['folder', 'git fetch moved no data for 5 min and was stopped: it waited for a file system'],
  ['network', 'github.com does not answer: getaddrinfo EAI_AGAIN github.com'],
  [
    'host',
    "fatal: unable to access 'https://example.org/a/b.git/': The requested URL returned error: 503",
  ],
  [
    'host',
    'error: RPC failed; HTTP 502 curl 22 The requested URL returned error: 502 fatal: expected flush after ref listing',
  ],
  ['host', "remote: Internal Server Error fatal: unable to access 'https://example.org/a/b.git/'"],
  ['host', 'github.com answered 500: oops'],
  [
    'rate limit',
    "fatal: unable to access 'https://example.org/a/b.git/': The requested URL returned error: 429",
  ],
  [
    'rate limit',
    "remote: You have exceeded a secondary rate limit. fatal: unable to access 'https://example.org/a/b.git/': The requested URL returned error: 403",
  ],
  ['rate limit', 'github.com answered 403: API rate limit exceeded for user ID 1.'],
  [
    'login',
    "remote: Invalid username or password. fatal: Authentication failed for 'https://example.org/a/b.git/'",
  ],
  ['login', "fatal: could not read Username for 'https://example.org': terminal prompts disabled"],
  [
    'login',
    'git@example.org: Permission denied (publickey). fatal: Could not read from remote repository. Please make sure you have the correct access rights and the repository exists.',
  ],
  ['login', 'Host key verification failed. fatal: Could not read from remote repository.'],
  [
    'login',
    "fatal: unable to access 'https://example.org/a/b.git/': The requested URL returned error: 403",
  ],
  [
    'missing',
    "remote: Repository not found. fatal: repository 'https://example.org/a/b/' not found",
  ],
  [
    'missing',
    "fatal: '/srv/plain' does not appear to be a git repository fatal: Could not read from remote repository.",
  ],
  ['missing', 'there is no folder /srv/gone'],
  [
    'missing',
    'access lost: the git host answers 404 (deleted, or no longer visible to this login); git said: fatal: x',
  ],
  ['missing', 'the git host has disabled this repository (451)'],
  [
    'certificate',
    "fatal: unable to access 'https://example.org/a/b.git/': SSL certificate problem: certificate has expired",
  ],
  [
    'certificate',
    "fatal: unable to access 'https://example.org/a/b.git/': server certificate verification failed. CAfile: none CRLfile: none",
  ],
  [
    'disk',
    'error: file write error: No space left on device fatal: unable to write loose object file fatal: early EOF',
  ],
  ['disk', 'ENOSPC: no space left on device, write'],
  ['disk', 'not enough disk space: about 2.0 GiB needed, 1.0 GiB free'],
  [
    'damaged',
    'error: git upload-pack: git-pack-objects died with error. fatal: git upload-pack: aborting due to possible repository corruption on the remote side. remote: aborting fatal: early EOF fatal: fetch-pack: invalid index-pack output',
  ],
  [
    'damaged',
    'remote: fatal: loose object 1234 (stored in ./objects/12/34) is corrupt fatal: the remote end hung up unexpectedly',
  ],
  ['damaged', 'error: inflate: data stream error (incorrect data check) fatal: early EOF'],
  ['damaged', 'fatal: remote did not send all necessary objects'],
  ['damaged', 'error: object 1234: missingSpaceBeforeDate: fsck error in packed object'],
  ['shallow', 'the repository is shallow, so its history is incomplete'],
  ['folder', "EROFS: read-only file system, mkdtemp '/srv/archives/.scratch-one-1-Etv1Xd'"],
  ['folder', "EACCES: permission denied, open '/srv/archives/team__app.bundle.json'"],
  [
    'folder',
    "fatal: Unable to create temporary file '/srv/mirrors/a.git/objects/pack/tmp_pack_XXXXXX': Read-only file system fatal: fetch-pack: invalid index-pack output",
  ],
  [
    'folder',
    'error: insufficient permission for adding an object to repository database ./objects fatal: write error',
  ],
  ['login', 'git@example.org: Permission denied (publickey). fatal: Could not read from remote'],
  ['archive', 'the archive is damaged: local__app.1.bundle is missing (on one)'],
  [
    'archive',
    'a new version was made, but the archive is damaged: the manifest of version 1 is missing or was altered',
  ],
  [
    'archive',
    'a new archive was made, because the one before was damaged and is set aside as local__app.bundle.damaged-20260304T050600Z: earlier versions exist only there',
  ],
  [
    'archive',
    'a new archive was made, because the one before is missing, along with the version that was',
  ],
  ['other', 'git bundle did not end in time and was stopped'],
  ['other', 'git clone did not end in time and was stopped'],
  ['other', 'the archive that git wrote does not contain all refs of the clone'],
  ['other', ''],
];

it.each(messages)('a fault of the kind "%s" is recognised by: %s', (kind, message) => {
  const fault = classifyFault(message);
  const isTransient = ['network', 'host', 'rate limit'].includes(kind);
  expect({ kind: fault.kind, isTransient: fault.isTransient }).toEqual({ kind, isTransient });
});

describe('the overload of a host', () => {
  it.each([
    ['HTTP 429', true],
    ['You have exceeded a secondary rate limit', true],
    ['Recv failure: Connection reset by peer', true],
    ['Connection closed by remote host', true],
    ['Could not resolve host: example.org', false],
    ['The requested URL returned error: 503', false],
    ['The requested URL returned error: 403', false],
  ])('follows from "%s": %s', (message, isOverload) => {
    expect(classifyFault(message).isOverload).toBe(isOverload);
  });
});

describe('the wait that a host asks for', () => {
  it.each([
    ['remote: Too many requests. Retry-After: 30 fatal: error: 429', 30_000],
    ['remote: Too many requests, retry after 7 seconds', 7_000],
    ['remote: rate limit, Retry-After: 999999', 900_000],
    ['remote: rate limit', null],
    ['remote: Retry-After: 30 fatal: Authentication failed', null],
  ])('is read from "%s" as %j ms', (message, wait) => {
    expect(classifyFault(message).retryAfterMs).toBe(wait);
  });
});

it('a missing git or too much output is not a network fault', () => {
  expect(classifyFault('git is not installed', 'missing').kind).toBe('other');
  expect(classifyFault('connection reset', 'output').isTransient).toBe(false);
});

// In quadratic time this would take hours, and the test would not end.
it('messages from a hostile host are classified in linear time', () => {
  const words = ['repository ', 'object ', 'connect to host ', 'loose object ', 'retry after '];
  for (const word of words) classifyFault(word.repeat(2 ** 16));
});
