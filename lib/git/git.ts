import type { Environment } from '../config/read.ts';
import { childEnvironment } from '../processes/child-environment.ts';
import { superviseGroup } from '../processes/process-group.ts';
import { cleanText } from '../text/clean-text.ts';
import { RecordTooLong, splitRecords } from '../text/split-records.ts';
import { credentialSettings, type GitCredential } from './git-credential.ts';

/** `failed`: git reported an error. Otherwise git is missing or was stopped. */
export type GitFault = 'failed' | 'missing' | 'timeout' | 'stopped' | 'output';

/** A failure of git, with its sanitized error output. */
export class GitError extends Error {
  override readonly name = 'GitError';
  readonly fault: GitFault;

  constructor(message: string, fault: GitFault = 'failed') {
    super(message);
    this.fault = fault;
  }
}

/** Whether git itself failed, as opposed to being missing or stopped. */
export function isGitFailure(error: unknown): error is GitError {
  return error instanceof GitError && error.fault === 'failed';
}

export interface GitOptions {
  /** Allowed protocols, in the format of GIT_ALLOW_PROTOCOL. Default: local files only. */
  protocols?: string;
  /** Milliseconds after which git is stopped. Default 10 minutes. */
  timeoutMs?: number;
  /** The input: a text, or an open file from its current position. Default: none. */
  stdin?: string | { fd: number };
  /** A token for one address, which disables credential helpers. Default: none. */
  credential?: GitCredential | null;
  /** Receives git's progress as it is written. */
  onProgress?(text: string): void;
  /** Receives what else git wrote to its error output, if `read` succeeds. */
  onRemarks?(text: string): void;
}

/** git as a child process. Every call rejects with the signal's reason when that aborts. */
export interface Git {
  /** Runs git for its output, of at most 64 MiB. Throws GitError. */
  read(args: readonly string[], options?: GitOptions): Promise<string>;
  /** Runs git for its raw output, of at most 64 MiB. Throws GitError. */
  readBytes(args: readonly string[], options?: GitOptions): Promise<Uint8Array>;
  /** Runs git with its output appended to an open file. Throws GitError. */
  write(args: readonly string[], file: { fd: number }, options?: GitOptions): Promise<void>;
  /** Runs git and yields its records of at most 1 MiB, terminated by `separator`. Throws GitError. */
  stream(args: readonly string[], separator: string, options?: GitOptions): AsyncIterable<string>;
}

const MAX_OUTPUT_BYTES = 64 * 2 ** 20;
const MAX_ERROR_BYTES = 2 ** 20;
const MAX_TAIL_LENGTH = 2 ** 16;
const DEFAULT_TIMEOUT_MS = 10 * 60_000;

/** Options for every call: no hooks, no background maintenance. */
const settings = [
  'core.hooksPath=/dev/null',
  'protocol.ext.allow=never',
  'gc.auto=0',
  'maintenance.auto=false',
  'i18n.logOutputEncoding=UTF-8',
  // Give up on connections below 1 kB/s for five minutes.
  'http.lowSpeedLimit=1000',
  'http.lowSpeedTime=300',
  // Bound the memory of packing: larger files are stored without deltas.
  'pack.windowMemory=64m',
  'pack.deltaCacheSize=64m',
  'core.deltaBaseCacheLimit=64m',
  'core.bigFileThreshold=32m',
].flatMap((setting) => ['-c', setting]);

/** Variables that would redirect git to another repository. */
const repositoryVariables = [
  'GIT_DIR',
  'GIT_WORK_TREE',
  'GIT_COMMON_DIR',
  'GIT_INDEX_FILE',
  'GIT_OBJECT_DIRECTORY',
  'GIT_ALTERNATE_OBJECT_DIRECTORIES',
  'GIT_NAMESPACE',
  'GIT_PREFIX',
  'GIT_SHALLOW_FILE',
  'GIT_GRAFT_FILE',
  'GIT_REPLACE_REF_BASE',
  'GIT_CEILING_DIRECTORIES',
  'GIT_TEMPLATE_DIR',
];

/** How a git process ended. */
interface Ending {
  failed: boolean;
  isMaxBuffer: boolean;
  code?: string | undefined;
  signal?: string | undefined;
  exitCode?: number | undefined;
  stderr?: Uint8Array | undefined;
}

/**
 * Creates a git runner with the environment of this process, without our own variables and secrets.
 * `defaults` apply to calls that do not override them.
 */
export function createGit(
  environment: Environment,
  signal: AbortSignal,
  defaults: Pick<GitOptions, 'protocols' | 'timeoutMs'> = {},
): Git {
  const env = gitEnvironment(environment);
  const start = async (
    args: readonly string[],
    options: GitOptions,
    output: 'buffered' | 'streamed' | { fd: number },
  ) => {
    // Loaded lazily, to keep it out of the cold starts of deployed functions, which never run git.
    const { execa } = await import('execa');
    signal.throwIfAborted();
    const child = execa('git', [...settings, ...args], {
      encoding: 'buffer',
      env: {
        ...env,
        ...(options.credential ? credentialSettings(env, options.credential) : {}),
        GIT_ALLOW_PROTOCOL: options.protocols ?? defaults.protocols ?? 'file',
      },
      extendEnv: false,
      detached: process.platform !== 'win32',
      ...readsFrom(options.stdin),
      // Any descriptor works, although the type only allows the first few.
      ...(typeof output === 'object' ? { stdout: output.fd as 3 } : {}),
      buffer: { stdout: output === 'buffered', stderr: !options.onProgress },
      maxBuffer: { stdout: MAX_OUTPUT_BYTES, stderr: MAX_ERROR_BYTES },
      stripFinalNewline: false,
      reject: false,
    });
    const timeoutMs = options.timeoutMs ?? defaults.timeoutMs ?? DEFAULT_TIMEOUT_MS;
    const group = superviseGroup(child, { signal, timeoutMs });
    const ended = child.finally(group.release);
    const { onProgress } = options;
    if (!onProgress) return { child, group, ended };
    // Hours of progress exceed any buffer: only the end, which has the error, is kept.
    let tail = '';
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      onProgress(text);
      tail = (tail + text).slice(-MAX_TAIL_LENGTH);
    });
    const withTail = ended.then((ending) => ({
      ...ending,
      stderr: Buffer.from(dropProgress(tail)),
    }));
    return { child, group, ended: withTail };
  };
  const check = (ending: Ending, timedOut: boolean, args: readonly string[]) => {
    signal.throwIfAborted();
    if (timedOut || ending.failed) throw describeFailure(ending, timedOut, args);
  };

  const readBytes = async (args: readonly string[], options: GitOptions = {}) => {
    const { group, ended } = await start(args, options, 'buffered');
    const result = await ended;
    check(result, group.timedOut(), args);
    options.onRemarks?.(cleanText(Buffer.from(result.stderr ?? []).toString()));
    return result.stdout ?? new Uint8Array();
  };

  return {
    async read(args, options = {}) {
      return Buffer.from(await readBytes(args, options)).toString();
    },
    readBytes,
    async write(args, file, options = {}) {
      const { group, ended } = await start(args, options, file);
      check(await ended, group.timedOut(), args);
    },
    async *stream(args, separator, options = {}) {
      const { child, group, ended } = await start(args, options, 'streamed');
      let drained = false;
      try {
        yield* splitRecords(child.stdout?.setEncoding('utf8') ?? [], separator);
        drained = true;
      } catch (error) {
        if (!(error instanceof RecordTooLong)) throw error;
        throw new GitError('git wrote a line that is too long', 'output');
      } finally {
        // Stop the process when the consumer stops early or the stream breaks.
        if (!drained) group.stop();
        await ended;
        signal.throwIfAborted();
      }
      check(await ended, group.timedOut(), args);
    },
  };
}

function readsFrom(stdin: GitOptions['stdin']) {
  if (typeof stdin === 'string') return { input: stdin };
  return { stdin: stdin === undefined ? ('ignore' as const) : (stdin.fd as 3) };
}

function gitEnvironment(environment: Environment): Environment {
  const kept = Object.entries(childEnvironment(environment)).filter(
    ([name]) => !repositoryVariables.includes(name) && !name.startsWith('GIT_TRACE'),
  );
  return {
    ...Object.fromEntries(kept),
    LC_ALL: 'C',
    GIT_TERMINAL_PROMPT: '0',
    GCM_INTERACTIVE: 'never',
    // Archive the stored objects: no replacements, and no lazy fetching from a promisor remote.
    GIT_NO_REPLACE_OBJECTS: '1',
    GIT_NO_LAZY_FETCH: '1',
    GIT_OPTIONAL_LOCKS: '0',
    // Stores refs in files, even if a later git has another default: we rename refs there.
    GIT_DEFAULT_REF_FORMAT: 'files',
  };
}

/** The lines of git's error output that are not about its progress. */
function dropProgress(text: string): string {
  const lines = text.split(/[\r\n]+/);
  return lines.filter((line) => !/^(?:remote: )?[A-Z][a-z ]{1,40}: +\d/.test(line)).join('\n');
}

function describeFailure(ending: Ending, timedOut: boolean, args: readonly string[]): GitError {
  // The command follows git's global options; of these, only -c takes a value.
  const command =
    args.find((argument, index) => !argument.startsWith('-') && args[index - 1] !== '-c') ?? '';
  if (ending.code === 'ENOENT') {
    return new GitError('git is not installed, or not on the PATH', 'missing');
  }
  if (timedOut) {
    return new GitError(`git ${command} did not end in time and was stopped`, 'timeout');
  }
  if (ending.isMaxBuffer) {
    return new GitError(`git ${command} wrote too much output and was stopped`, 'output');
  }
  const errorOutput = cleanText(Buffer.from(ending.stderr ?? []).toString());
  const end = ending.signal ? `was stopped by ${ending.signal}` : `ended with ${ending.exitCode}`;
  const fault = ending.signal ? 'stopped' : 'failed';
  return new GitError(errorOutput === '' ? `git ${command} ${end}` : errorOutput, fault);
}
