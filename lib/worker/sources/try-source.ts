import { basename } from 'node:path';
import type { Environment } from '../../config/read.ts';
import { type ConfiguredSource, readSource } from '../../config/sources.ts';
import { isSystemError } from '../../files.ts';
import { createGit, type Git, GitError } from '../../git/git.ts';
import { openFileCalls, UnansweredCall } from '../../processes/file-calls.ts';
import type { HeldRepository, SourceTrial } from '../../records/sources/trial.ts';
import { cleanText } from '../../text/clean-text.ts';
import { isLinkLocal } from '../../text/network.ts';
import { AddressError } from '../../text/source-address.ts';
import { explainFolder } from '../backup/explain-folder.ts';
import { isRepository } from '../backup/is-repository.ts';
import { classifyFault } from '../base/git-faults.ts';
import { parseLocation, type Source } from '../base/source.ts';
import { firstProtocol } from '../mirror/refs.ts';
import { listRepositories } from '../run/selection/expand-folders.ts';

/** How long a trial may take, in milliseconds. */
export const TRIAL_MS = 60_000;
/** More refs than any repository that is backed up has. */
const MAX_REFS = 1_000_000;

/** What a trial needs. */
export interface TrialDeps {
  environment: Environment;
  signal: AbortSignal;
  /** The base of relative paths. */
  folder: string;
  /**
   * Finds the addresses of a host, for a trial that came from a browser: it may not lead to link-local addresses, where
   * cloud machines keep credentials, nor follow redirects. Null for a person at the machine.
   */
  resolve: ((hostname: string) => Promise<readonly string[]>) | null;
  /** Asks the git host how large a repository is, in bytes; null if it does not say. */
  sizeOnHost(location: string): Promise<number | null>;
  /** Default: TRIAL_MS. */
  maxMs?: number;
}

/**
 * Tries whether an address can be backed up, and changes nothing: whether it is reached, git's login is accepted, and
 * there is a repository, or a folder that holds some. git never asks, and everything is bounded.
 */
export async function trySource(deps: TrialDeps, text: string): Promise<SourceTrial> {
  const { signal, maxMs = TRIAL_MS } = deps;
  try {
    const source = readSource(text.trim(), deps.folder);
    const opened = parseLocation(source.address, '/');
    if (opened.isLocal) {
      const repositories = await openFileCalls(maxMs).watch(() => lookInto(opened.location));
      if (repositories.length > 0) return { kind: 'folder', source, repositories };
    }
    await guard(deps, opened);
    return await readRepository(deps, source, opened, maxMs);
  } catch (error) {
    signal.throwIfAborted();
    return { kind: 'refused', reason: explain(error) };
  }
}

function explain(error: unknown): string {
  if (error instanceof AddressError) return `the address ${error.message}`;
  if (error instanceof UnansweredCall) return 'the folder does not answer: is its disk mounted?';
  if (error instanceof RefusedAddress) return error.message;
  if (error instanceof GitError) return `${error.message}${adviceFor(error)}`;
  if (isSystemError(error)) return cleanText(error.message);
  throw error;
}

function adviceFor({ message, fault }: GitError): string {
  if (/refusing to connect|redirect/i.test(message)) return ': name the address that it leads to';
  switch (classifyFault(message, fault).kind) {
    case 'login':
      return ': git needs a login for it on the machine that backs up, from a credential helper or an ssh key; what a login of the worker discovers needs no address';
    case 'missing':
      return ': check the address, and whether git has a login that may see it';
    default:
      return '';
  }
}

/** An address that may not be tried. */
class RefusedAddress extends Error {
  override readonly name = 'RefusedAddress';
}

async function guard({ resolve }: TrialDeps, { location, isLocal }: Source): Promise<void> {
  if (resolve === null || isLocal) return;
  const hostname = hostOf(location);
  const addresses = [hostname, ...(await resolve(hostname))];
  if (!addresses.some((address) => isLinkLocal(address.replace(/^\[(.*)\]$/, '$1')))) return;
  throw new RefusedAddress('the address leads to a link-local address, which is not allowed here');
}

function hostOf(location: string): string {
  if (URL.canParse(location) && location.includes('://')) return new URL(location).hostname;
  return /^(?:[^@/]*@)?(\[[^\]]*\]|[^:/]+):/.exec(location)?.[1] ?? location;
}

/** The repositories in a folder; none if it is one itself, or is not there. */
async function lookInto(folder: string): Promise<HeldRepository[]> {
  if (await isRepository(folder)) return [];
  const { repositories } = await listRepositories(folder);
  return repositories.flatMap((address) => {
    try {
      return { address, name: parseLocation(address, '/').name };
    } catch (error) {
      // Its name cannot be that of a repository: a run says so.
      if (error instanceof AddressError) return [];
      throw error;
    }
  });
}

async function readRepository(
  { environment, signal, resolve, sizeOnHost }: TrialDeps,
  source: ConfiguredSource,
  opened: Source,
  timeoutMs: number,
): Promise<SourceTrial> {
  const { location, isLocal, protocols, name } = opened;
  const git = createGit(environment, signal, { protocols, timeoutMs });
  const redirects = resolve === null ? [] : ['-c', 'http.followRedirects=false'];
  let refs: number;
  try {
    refs = await countRefs(git, [...redirects, ...firstProtocol], location);
  } catch (error) {
    if (error instanceof GitError) await explainFolder(opened);
    throw error;
  }
  if (!isLocal)
    return { kind: 'repository', source, name, refs, sizeBytes: await sizeOnHost(location) };
  const sizeBytes = await measureFolder(git, location);
  return { kind: 'repository', source, name, refs, sizeBytes };
}

async function countRefs(git: Git, options: readonly string[], location: string): Promise<number> {
  let refs = 0;
  for await (const line of git.stream([...options, 'ls-remote', '--', location], '\n')) {
    const name = line.split('\t')[1] ?? '';
    if (name !== 'HEAD' && !name.endsWith('^{}')) refs++;
    if (refs === MAX_REFS) break;
  }
  return refs;
}

/** Bytes of the objects of a repository on this machine; null for a bundle. Throws GitError for a shallow one. */
async function measureFolder(git: Git, folder: string): Promise<number | null> {
  if (!(await isRepository(folder))) return null;
  const shallow = await git.read(['-C', folder, 'rev-parse', '--is-shallow-repository']);
  if (shallow.trim() === 'true') {
    throw new GitError(
      `${basename(folder)} is a shallow clone, whose history is incomplete: run \`git fetch --unshallow\` in it`,
    );
  }
  const counts = await git.read(['-C', folder, 'count-objects', '-v']);
  const kib = (what: string) => Number(new RegExp(`^${what}: (\\d+)$`, 'm').exec(counts)?.[1] ?? 0);
  return (kib('size') + kib('size-pack')) * 1_024;
}
