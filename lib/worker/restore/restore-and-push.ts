import { rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { AppError } from '../../errors.ts';
import { createGit, GitError } from '../../git/git.ts';
import type { Restored } from '../../restore/restore.ts';
import { cleanText } from '../../text/clean-text.ts';
import { counted } from '../../text/units.ts';
import { askToOverwrite } from '../base/ask-to-overwrite.ts';
import type { WorkerOptions } from '../base/command-context.ts';
import type { Display } from '../base/display.ts';
import type { ArchiveSource } from './archive-source.ts';
import { isKept, makeOwnFolder } from './download-folder.ts';
import { printEvent } from './print-event.ts';
import { type DestinationRefs, openRemote, type PushedRefs, readOwnRefs } from './push-refs.ts';
import type { PushChoice, RestoreCommand } from './restore-commands.ts';
import { restoreOne } from './restore-one.ts';

/** How many namespaces of refs are named. */
const MAX_SPACES = 10;

/** Refs are missing on the host after the push. */
class NotPushed extends Error {
  override readonly name = 'NotPushed';
}

/**
 * Restores a repository, pushes its branches, tags and notes to a git host, and reads them back. Returns the exit code:
 * 1 if something did not arrive. Throws AppError.
 */
export async function restoreAndPush(
  options: WorkerOptions,
  command: RestoreCommand & { repository: string; push: PushChoice },
  source: ArchiveSource,
  display: Display,
): Promise<number> {
  const { environment, signal, io } = options;
  const { push, target } = command;
  const { to } = push;
  const address = cleanText(to.location, 300);
  const git = createGit(environment, signal);
  const remote = openRemote(git, to);
  try {
    // Before the download, so that wrong credentials are noticed at once.
    const before = await remote.list();
    await checkOverwriting(before);
    if (push.isTemporary) {
      await makeOwnFolder(dirname(target));
      // A killed attempt may have left it.
      await rm(target, { recursive: true, force: true });
    }
    const { unwritten } = await restoreOne(options, command, source, display, (restored) =>
      pushAll(restored, before),
    );
    return unwritten === null ? 0 : 1;
  } catch (error) {
    if (error instanceof NotPushed) {
      display.line(error.message);
      return 1;
    }
    if (!(error instanceof GitError)) throw error;
    throw new AppError('SERVICE_UNAVAILABLE', `${address}: ${error.message}`, { cause: error });
  } finally {
    // A download that was interrupted stays there.
    if (push.isTemporary) await isKept(dirname(target));
  }

  /** Throws NotPushed if something did not arrive. */
  async function pushAll({ headBranch }: Restored, before: DestinationRefs): Promise<void> {
    try {
      const gitDir = command.isBare ? target : join(target, '.git');
      const own = await readOwnRefs(git, gitDir);
      if (own.wanted.size === 0) {
        throw new AppError('CONFLICT', 'this version has no branch and no tag to push');
      }
      display.line(`pushing ${countRefs(own.wanted.keys())} to ${address}`);
      if (command.isJson) {
        printEvent(io, { event: 'step', step: 'pushing', files: null, all_files: null });
      }
      const mayReplace = before.refs.size > 0;
      const faults = await remote.push(gitDir, own, headBranch, mayReplace);
      for (const fault of faults) display.line(fault);
      report(own, await remote.list(), headBranch);
    } finally {
      if (push.isTemporary) await rm(target, { recursive: true, force: true });
    }
  }

  async function checkOverwriting({ refs }: DestinationRefs): Promise<void> {
    if (refs.size === 0 || push.mayOverwrite) return;
    const what = `${address} is not empty: it has ${countRefs(refs.keys())}`;
    const isAgreed = await askToOverwrite(
      options,
      `${what}. Replace those that this backup has too?`,
    );
    if (isAgreed === true) return;
    throw new AppError(
      'CONFLICT',
      isAgreed === null
        ? `${what}; give --overwrite to replace those that this backup has too`
        : 'nothing was pushed',
    );
  }

  function report(
    { wanted, others }: PushedRefs,
    after: DestinationRefs,
    branch: string | null,
  ): void {
    const print = (text: string) => io.stdout.write(`${text}\n`);
    const missing = [...wanted].filter(([name, id]) => after.refs.get(name) !== id);
    const there = [...wanted.keys()].filter((name) => after.refs.get(name) === wanted.get(name));
    const hasDefault = branch === null || !wanted.has(branch) || after.headBranch === branch;
    if (command.isJson) {
      printEvent(io, {
        ...{ event: 'pushed', same: there.length, missing: missing.length },
        ...{ left_out: others.length, has_default_branch: hasDefault },
      });
      if (missing.length === 0) return;
      throw notPushed();
    }
    print(`Pushed to ${address}`);
    print(`  Same as in the backup: ${countRefs(there)}`);
    const foreign = [...after.refs.keys()].filter((name) => !wanted.has(name));
    if (foreign.length > 0) print(`  Also there, left unchanged: ${countRefs(foreign)}`);
    if (others.length > 0) {
      print(`  Not pushed, because they are not branches, tags or notes: ${countSpaces(others)}`);
    }
    if (branch !== null && !hasDefault) {
      const short = cleanText(branch.replace('refs/heads/', ''), 200);
      print(`  The default branch is not ${short}: set it in the settings of the repository`);
    }
    for (const [name, id] of missing) print(`  Missing: ${cleanText(name, 300)} at ${id}`);
    if (missing.length > 0) throw notPushed();
  }

  function notPushed(): NotPushed {
    return new NotPushed(
      push.isTemporary
        ? 'not everything was pushed: repeat the command with --overwrite'
        : `not everything was pushed: push the rest from ${cleanText(target, 500)} with git`,
    );
  }
}

function countRefs(names: Iterable<string>): string {
  const counts = { branches: 0, tags: 0, notes: 0 };
  for (const name of names) {
    if (name.startsWith('refs/heads/')) counts.branches++;
    else if (name.startsWith('refs/tags/')) counts.tags++;
    else counts.notes++;
  }
  const parts = [
    counted(counts.branches, 'branch', 'branches'),
    counted(counts.tags, 'tag', 'tags'),
    ...(counts.notes > 0 ? [counted(counts.notes, 'ref of notes', 'refs of notes')] : []),
  ];
  return parts.join(', ');
}

/** `251 below refs/pull, 1 below refs/custom`. */
function countSpaces(names: readonly string[]): string {
  const counts = new Map<string, number>();
  for (const name of names) {
    const space = name.split('/').slice(0, 2).join('/');
    counts.set(space, (counts.get(space) ?? 0) + 1);
  }
  const spaces = [...counts].map(([space, count]) => `${count} below ${cleanText(space, 100)}`);
  const named = spaces.slice(0, MAX_SPACES);
  const more = spaces.length - named.length;
  return `${named.join(', ')}${more > 0 ? ` and ${more} more namespaces` : ''}`;
}
