import type { ChildProcess } from 'node:child_process';
import type { Readable } from 'node:stream';
import { loadOnce } from '../async.ts';
import { gitVariables } from '../config/git.ts';
import { type Environment, readConfig } from '../config/read.ts';
import { childEnvironment } from '../processes/child-environment.ts';
import { superviseGroup } from '../processes/process-group.ts';
import { cleanText } from '../text/clean-text.ts';
import { RecordTooLong, splitRecords } from '../text/split-records.ts';
import { readableFailure } from './failure-text.ts';
import { credentialSettings, type GitCredential } from './git-credential.ts';
import { describeStall, watchForStall } from './stall.ts';

/** `failed`: git reported an error. Otherwise git is missing or was stopped. `stalled`: it waited, and no data had come. */
export type GitFault = 'failed' | 'missing' | 'timeout' | 'stalled' | 'stopped' | 'output';

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
  /** Runs git and yields its raw output, of any length. Throws GitError. */
  chunks(args: readonly string[], options?: GitOptions): AsyncIterable<Uint8Array>;
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
  // Together with a time limit, see below.
  'http.lowSpeedLimit=1000',
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

/** How long the error output may stay open after git has ended, because of a helper that stays in the background. */
const LINGER_MS = 2_000;

/** How a git process ended. */
interface Ending {
  failed: boolean;
  isMaxBuffer: boolean;
  code?: string | undefined;
  signal?: string | undefined;
  exitCode?: number | undefined;
  stdout?: Uint8Array | undefined;
  stderr?: Uint8Array | undefined;
}

/** How long git may wait, in milliseconds. */
export function stallMsOf(environment: Environment): number {
  return readConfig(gitVariables, environment).GIT_STALL_SECONDS * 1_000;
}

/** Which ssh git uses, by environment: reading the user's settings takes a process, and runs use git thousands of times. */
const sshChoices = new WeakMap<Environment, () => Promise<Environment>>();

/** Never asks, not even about an unknown host, and gives up a connection that is silent. */
function sshCommand(stallSeconds: number): string {
  const aliveSeconds = Math.ceil(stallSeconds / 4);
  const options = [
    ...['BatchMode=yes', `ConnectTimeout=${stallSeconds}`],
    ...[`ServerAliveInterval=${aliveSeconds}`, 'ServerAliveCountMax=3'],
  ];
  return ['ssh', ...options.map((option) => `-o${option}`)].join(' ');
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
  const stallMs = stallMsOf(environment);
  const stallSeconds = stallMs / 1_000;
  // Where git cannot be watched. Elsewhere the watch comes first, because it knows what git waits for.
  const lowSpeedTime = `http.lowSpeedTime=${2 * stallSeconds}`;
  const start = async (
    args: readonly string[],
    options: GitOptions,
    output: 'buffered' | 'streamed' | { fd: number },
  ) => {
    // Loaded lazily, to keep it out of the cold starts of deployed functions, which never run git.
    const { execa } = await import('execa');
    const protocols = options.protocols ?? defaults.protocols ?? 'file';
    const mayUseSsh = protocols.split(':').includes('ssh') && !options.credential;
    const ssh = mayUseSsh ? await chooseSsh() : {};
    signal.throwIfAborted();
    const child = execa('git', [...settings, '-c', lowSpeedTime, ...args], {
      encoding: 'buffer',
      env: {
        ...env,
        ...ssh,
        ...(options.credential ? credentialSettings(env, options.credential) : {}),
        GIT_ALLOW_PROTOCOL: protocols,
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
    const command = commandOf(args);
    let stall: GitError | null = null;
    const watch = watchForStall({
      group: child.pid ?? 0,
      stallMs,
      hasProgress: options.onProgress !== undefined,
      command,
      isRemote: isRemote(command, args),
      isHeldUp: () => (child.stdout?.readableLength ?? 0) > 0,
      onStall(waitedFor, hasBegun) {
        const text = describeStall(command, stallMs, waitedFor);
        stall = new GitError(text, hasBegun ? 'timeout' : 'stalled');
        group.stop();
      },
    });
    closeLingering(child.nodeChildProcess);
    const lost = group.lost.then((): Ending => {
      child.stdout?.destroy();
      child.stderr?.destroy();
      return { failed: true, isMaxBuffer: false, signal: 'SIGKILL' };
    });
    const ended = Promise.race([child, lost]).finally(() => {
      watch.end();
      group.release();
    });
    const failure = (ending: Ending) => {
      signal.throwIfAborted();
      if (stall !== null) return stall;
      const timedOut = group.timedOut();
      return timedOut || ending.failed ? describeFailure(ending, timedOut, command) : null;
    };
    const { onProgress } = options;
    if (!onProgress) return { child, group, ended, failure };
    // Hours of progress exceed any buffer: only the end, which has the error, is kept.
    let tail = '';
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      watch.receive(text);
      onProgress(text);
      tail = (tail + text).slice(-MAX_TAIL_LENGTH);
    });
    const withTail = ended.then((ending) => ({
      ...ending,
      stderr: Buffer.from(dropProgress(tail)),
    }));
    return { child, group, ended: withTail, failure };
  };
  const check = async (ended: Promise<Ending>, failure: (ending: Ending) => GitError | null) => {
    const fault = failure(await ended);
    if (fault !== null) throw fault;
  };

  const readBytes = async (args: readonly string[], options: GitOptions = {}) => {
    const { ended, failure } = await start(args, options, 'buffered');
    await check(ended, failure);
    const result = await ended;
    options.onRemarks?.(cleanText(Buffer.from(result.stderr ?? []).toString()));
    return result.stdout ?? new Uint8Array();
  };

  const readConfigured = async (name: string) => {
    try {
      // Not in the folder of this process, which may be a repository with settings of its own.
      const args = ['-C', '/', 'config', '--get', name];
      // Whatever the default is: a call that may use ssh would wait for this one.
      return (await readBytes(args, { protocols: 'file' })).length > 0;
    } catch (error) {
      if (isGitFailure(error)) return false;
      throw error;
    }
  };
  const chooseSsh = () => {
    if (env.GIT_SSH_COMMAND || env.GIT_SSH) return {};
    const known = sshChoices.get(environment);
    if (known) return known();
    const choose = loadOnce(
      async (): Promise<Environment> =>
        (await readConfigured('core.sshCommand'))
          ? {}
          : { GIT_SSH_COMMAND: sshCommand(stallSeconds) },
    );
    sshChoices.set(environment, choose);
    return choose();
  };

  async function* readWhole<Part>(
    args: readonly string[],
    options: GitOptions,
    split: (output: Readable) => AsyncIterable<Part>,
  ): AsyncIterable<Part> {
    const { child, group, ended, failure } = await start(args, options, 'streamed');
    let drained = false;
    let broken: unknown = null;
    try {
      if (child.stdout) yield* split(child.stdout);
      drained = true;
    } catch (error) {
      if (error instanceof RecordTooLong)
        throw new GitError('git wrote a line that is too long', 'output');
      broken = error;
    } finally {
      // Stop the process when the consumer stops early or the stream breaks.
      if (!drained) group.stop();
      await ended;
      signal.throwIfAborted();
    }
    await check(ended, failure);
    // Only git that was stopped leaves its output open.
    if (broken !== null) throw broken;
  }

  return {
    async read(args, options = {}) {
      return Buffer.from(await readBytes(args, options)).toString();
    },
    readBytes,
    async write(args, file, options = {}) {
      const { ended, failure } = await start(args, options, file);
      await check(ended, failure);
    },
    stream: (args, separator, options = {}) =>
      readWhole(args, options, (output) => splitRecords(output.setEncoding('utf8'), separator)),
    chunks: (args, options = {}) => readWhole(args, options, (output) => output),
  };
}

/**
 * Closes the error output soon after git has ended, although a process in the background still has it open, such as an
 * ssh connection that is kept for the next use.
 */
function closeLingering(child: Pick<ChildProcess, 'once' | 'stderr'>): void {
  child.once('exit', () => {
    const close = () => child.stderr?.destroy();
    // What was written by now is read first. An open output keeps this process alive, the timer alone must not.
    const timer = setTimeout(() => setImmediate(close), LINGER_MS).unref();
    child.stderr?.once('close', () => clearTimeout(timer));
  });
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
    // curl, and so git, only reads this one in lower case: servers must not let a request set it by a header.
    ...(environment.HTTP_PROXY
      ? { http_proxy: environment.http_proxy ?? environment.HTTP_PROXY }
      : {}),
    LC_ALL: 'C',
    // Nobody is there to be asked. An empty GIT_ASKPASS also overrides core.askPass.
    GIT_TERMINAL_PROMPT: '0',
    GIT_ASKPASS: '',
    SSH_ASKPASS: '',
    SSH_ASKPASS_REQUIRE: 'never',
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

/** The command follows git's global options; of these, only -c takes a value. */
function commandOf(args: readonly string[]): string {
  return (
    args.find((argument, index) => !argument.startsWith('-') && args[index - 1] !== '-c') ?? ''
  );
}

/** Whether git talks to another machine. Paths and addresses follow `--`. */
function isRemote(command: string, args: readonly string[]): boolean {
  const location = args[args.indexOf('--') + 1] ?? '';
  const isLocal = args.includes('--') && /^(?:[\\/]|file:|[a-z]:[\\/])/i.test(location);
  return /^(?:clone|fetch|ls-remote|push)$/.test(command) && !isLocal;
}

function describeFailure(ending: Ending, timedOut: boolean, command: string): GitError {
  if (ending.code === 'ENOENT') {
    return new GitError('git is not installed, or not on the PATH', 'missing');
  }
  if (timedOut) {
    return new GitError(`git ${command} did not end in time and was stopped`, 'timeout');
  }
  if (ending.isMaxBuffer) {
    return new GitError(`git ${command} wrote too much output and was stopped`, 'output');
  }
  const errorOutput = readableFailure(Buffer.from(ending.stderr ?? []).toString());
  if (ending.signal) {
    // What it wrote before is not the reason.
    const why = ending.signal === 'SIGKILL' ? ', probably because memory ran out' : '';
    const before = errorOutput === '' ? '' : `; before, it wrote: ${errorOutput}`;
    return new GitError(`git ${command} was stopped by ${ending.signal}${why}${before}`, 'stopped');
  }
  const message = errorOutput === '' ? `git ${command} ended with ${ending.exitCode}` : errorOutput;
  return new GitError(message);
}
