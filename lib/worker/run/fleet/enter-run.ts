import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { AppError } from '../../../errors.ts';
import { clearOtherRuns } from '../../../records/fleet/ending.ts';
import { isStarterGone } from '../../../records/fleet/jobs.ts';
import {
  enterRun,
  type FoundRun,
  findSharedRun,
  type Member,
} from '../../../records/fleet/members.ts';
import { type ActiveRun, type StartedRun, startRun } from '../../../records/recording/runs.ts';
import { cleanText } from '../../../text/clean-text.ts';
import { makeArchiveFolder } from '../../archive/archive.ts';
import type { MachineLease } from '../../archive/lease/machine-lease.ts';
import type { Source } from '../../base/source.ts';
import type { RunDeps } from '../run-deps.ts';
import { hasFolderToken, removeFolderToken, writeFolderToken } from './folder-token.ts';

/** A run may end and another begin between two looks, but not this often by chance. */
const MAX_LOOKS = 20;

/** A run that this worker takes part in. */
export interface EnteredRun {
  run: StartedRun;
  member: Member;
  token: string;
}

/** Why a worker may not take part. */
interface RefusedRun {
  active: ActiveRun | null;
  why: string;
}

/**
 * Joins the run that other workers share, or starts one. Throws SERVICE_UNAVAILABLE if the archive folder is not
 * that of the run, before anything is written; also file system errors.
 */
export async function findOrStart(
  deps: RunDeps,
  lease: Pick<MachineLease, 'machine' | 'abandoned'>,
  given: readonly Source[] | null,
): Promise<EnteredRun | RefusedRun> {
  const { db, archiveFolder, gitHost } = deps;
  const me = {
    id: randomUUID(),
    machine: lease.machine,
    hostName: cleanText(hostname(), 250),
    gitHostUrl: gitHost.config.GIT_HOST_URL,
  };
  const enter = async (run: StartedRun, token: string, isStarter: boolean) => {
    const member = { ...me, runId: run.id, isStarter };
    return (await enterRun(db, member)) ? { run, member, token } : null;
  };
  for (let look = 0; look < MAX_LOOKS; look++) {
    deps.signal.throwIfAborted();
    const found = await findSharedRun(db);
    const abandoned = found !== null && (await isDead(deps, lease, found)) ? found : null;
    if (found === null || abandoned !== null) {
      const started = await start(deps, abandoned ?? lease.abandoned, given);
      if ('active' in started) {
        // Another worker was first, unless the run belongs to another program.
        const rival = await findSharedRun(db);
        if (rival === null && started.active !== null) {
          return { active: started.active, why: 'it belongs to another program' };
        }
        continue;
      }
      const entered = await enter(started.run, started.token, true);
      if (entered !== null) return entered;
      continue;
    }
    const { id, startedAt, token } = found;
    const active = { id, startedAt };
    if (token === null) {
      return {
        active,
        why: 'it was started without --join, so no other worker can join it',
      };
    }
    if (given !== null || deps.named.ids !== null || hasOptions(deps)) {
      return {
        active,
        why: 'the worker that started it has decided what it backs up: join it without --source, --only and --exclude',
      };
    }
    if (!(await hasFolderToken(archiveFolder, token))) {
      throw new AppError(
        'SERVICE_UNAVAILABLE',
        `cannot join run ${id}: ${archiveFolder} is not its archive folder (all machines must see the same one, for example a network mount); nothing was changed`,
      );
    }
    const entered = await enter(found, token, false);
    if (entered !== null) return entered;
  }
  throw new AppError('SERVICE_UNAVAILABLE', 'runs begin and end too fast to join one');
}

/** Whether a run is abandoned: its worker was killed on this machine, or no worker will list its repositories. */
async function isDead(
  { db }: RunDeps,
  { machine, abandoned }: Pick<MachineLease, 'machine' | 'abandoned'>,
  found: FoundRun,
): Promise<boolean> {
  if (isSame(found, abandoned)) return true;
  return found.token !== null && (await isStarterGone(db, found.id, machine));
}

function isSame(found: StartedRun, other: StartedRun | null): boolean {
  return other !== null && found.id === other.id && found.startedAt === other.startedAt;
}

/** Variables are the same on all machines; options are meant for one run. */
function hasOptions({ selection }: RunDeps): boolean {
  return [...selection.only, ...selection.exclude].some(({ from }) => from.startsWith('--'));
}

/** Starts a run. Its token is in the archive folder before other workers can see the run. */
async function start(
  { db, archiveFolder, staleAfterMs, scheduleMs, scheduleId }: RunDeps,
  abandoned: StartedRun | null,
  given: readonly Source[] | null,
): Promise<{ run: StartedRun; token: string } | { active: ActiveRun | null }> {
  let token: string;
  try {
    await makeArchiveFolder(archiveFolder);
    token = await writeFolderToken(archiveFolder);
  } catch (cause) {
    const reason = `the archive folder cannot be used: ${(cause as Error).message}`;
    throw new AppError('SERVICE_UNAVAILABLE', cleanText(reason), { cause });
  }
  let run: StartedRun | null = null;
  try {
    const totalRepos = given?.length ?? 0;
    const about = { totalRepos, staleAfterMs, abandoned, fleetToken: token };
    const started = await startRun(db, { ...about, scheduleMs, scheduleId });
    if ('active' in started) return started;
    run = started;
    await clearOtherRuns(db, run.id);
    return { run, token };
  } finally {
    if (run === null) await removeFolderToken(archiveFolder, token);
  }
}
