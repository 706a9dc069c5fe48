/** One log or result of the labelled corpus. */
export interface CorpusLog {
  message: string;
  repository: string;
  level: string;
  /** The subject of the line: queries are labelled by topic and repository, not by words. */
  topic: string;
}

const owners = ['acme', 'globex', 'initech'] as const;
const projects = [
  'site-backend',
  'billing-api',
  'mobile-app',
  'data-pipeline',
  'design-system',
  'infra-terraform',
  'auth-gateway',
  'search-indexer',
  'docs-portal',
  'report-mailer',
] as const;

/** The 30 repositories of the corpus. */
const repositories = owners.flatMap((owner) => projects.map((name) => `${owner}/${name}`));

/** What workers write about each topic, with placeholders `{repo}` and `{n}`. */
const topics: Record<string, { level: string; lines: string[] }> = {
  reset: {
    level: 'error',
    lines: [
      'read ECONNRESET while fetching {repo}, attempt {n}',
      'the remote closed the connection unexpectedly (ECONNRESET)',
    ],
  },
  dns: {
    level: 'error',
    lines: [
      'getaddrinfo ENOTFOUND git.example while cloning {repo}',
      'could not resolve host git.example (attempt {n})',
    ],
  },
  authentication: {
    level: 'error',
    lines: [
      "fatal: Authentication failed for 'https://git.example/{repo}.git/'",
      'the credentials for {repo} were rejected with HTTP 401',
    ],
  },
  missing: {
    level: 'error',
    lines: [
      "remote: Repository not found. fatal: repository 'https://git.example/{repo}.git/' not found",
      'git clone of {repo} ended with exit status 128',
    ],
  },
  quota: {
    level: 'warn',
    lines: [
      'API rate limit exceeded, waiting {n} seconds before the next request',
      'HTTP 429 Too Many Requests from api.git.example, retry-after {n}',
    ],
  },
  disk: {
    level: 'error',
    lines: [
      'write failed: ENOSPC no space left on device, /var/lib/archives/{repo}.bundle',
      'the archive volume is full ({n} bytes free)',
    ],
  },
  checksum: {
    level: 'error',
    lines: [
      'checksum mismatch of the bundle of {repo}: expected sha256 {hash}',
      'pack is corrupt: inflate returned -3 at offset {n}',
    ],
  },
  timeout: {
    level: 'warn',
    lines: [
      'operation timed out after {n} seconds: git fetch {repo}',
      'ETIMEDOUT connecting to git.example:443',
    ],
  },
  certificate: {
    level: 'error',
    lines: [
      'TLS handshake failed: certificate has expired (CERT_HAS_EXPIRED)',
      'unable to verify the first certificate of git.example',
    ],
  },
  large: {
    level: 'warn',
    lines: [
      'remote rejected the push: file exceeds the size limit of 100 MB (GH001)',
      'archive of {repo} is too large to be pushed, kept locally',
    ],
  },
  unchanged: { level: 'info', lines: ['no refs moved since the last backup of {repo}, skipped'] },
  done: {
    level: 'info',
    lines: [
      'bundled {n} refs of {repo} in 1.{n} s',
      'verified and stored the archive of {repo}, commit {hash}',
    ],
  },
  lock: {
    level: 'warn',
    lines: ["Unable to create '.git/index.lock': File exists, another process seems to be running"],
  },
  memory: {
    level: 'error',
    lines: ['git index-pack was killed by signal 9: out of memory while receiving {repo}'],
  },
  heartbeat: {
    level: 'debug',
    lines: ['worker heartbeat sent, {n} repositories left in the queue'],
  },
  webhook: { level: 'info', lines: ['queued a run requested by webhook delivery {hash}'] },
};

const hex = (seed: number) => {
  let state = (seed + 1) * 2_654_435_761;
  let digits = '';
  while (digits.length < 40) {
    state = (Math.imul(state ^ (state >>> 15), 2_246_822_519) + 374_761_393) >>> 0;
    digits += state.toString(16).padStart(8, '0');
  }
  return digits.slice(0, 40);
};

/**
 * The corpus: every line of every topic for every repository, twice, with different numbers, and always the same. A
 * commit is `commitOf(repository)`.
 */
export function buildCorpus(): CorpusLog[] {
  const logs: CorpusLog[] = [];
  for (const round of [0, 1]) {
    for (const [r, repository] of repositories.entries()) {
      for (const [topic, { level, lines }] of Object.entries(topics)) {
        for (const [l, line] of lines.entries()) {
          const message = line
            .replaceAll('{repo}', repository)
            .replaceAll('{n}', String(3 + ((r * 7 + l * 3 + round * 11) % 60)))
            .replaceAll(
              '{hash}',
              round === 0 ? commitOf(repository, topic) : hex(logs.length + 900),
            );
          logs.push({ message, repository, level, topic });
        }
      }
    }
  }
  return logs;
}

/** The hash that the first round of a topic uses for a repository. */
export function commitOf(repository: string, topic: string): string {
  return hex(repositories.indexOf(repository) * 100 + topic.length);
}
