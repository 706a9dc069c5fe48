import { loadOnce } from '../../../async.ts';
import { parseJson } from '../../../json.ts';
import { cleanText } from '../../../text/clean-text.ts';
import { otherName } from '../../archive/assign-archives.ts';
import { type Job, newJob } from '../../backup/backup.ts';
import { parseLocation, type Source } from '../../base/source.ts';
import { describeRefusedLogin } from '../../base/stop.ts';
import { createGitHostClient } from '../../hosts/client.ts';
import { isLoginRefused } from '../../hosts/errors.ts';
import { isSafeFullName } from '../../hosts/host-repository.ts';
import { describeAccess, lookUpRepository } from '../../hosts/look-up.ts';
import type { HostAccess } from '../../logins/host-access.ts';
import { openTokenSource } from '../../logins/token-source.ts';
import { isOnThisMachine } from '../order.ts';
import { type JobFacts, jobFacts } from './job-facts.ts';

/** Builds jobs from the rows that another worker has published. */
export interface JobBuilder {
  /** Throws an error that says what is wrong with the row, and RunStopped if this machine's login is refused. */
  build(repository: string, facts: string): Promise<Job>;
}

/**
 * Does not trust the rows: addresses are parsed like those on a command line, tokens come from this machine's login
 * and go only to its own git host, and a repository counts as private unless the host itself says otherwise.
 * `mayPush`: whether archives are pushed, since privacy only matters then.
 */
export function createJobBuilder(access: HostAccess, mayPush: boolean): JobBuilder {
  const tokens = loadOnce(() => openTokenSource(access, access.logins));
  return {
    async build(repository, text) {
      const { success, data } = jobFacts.safeParse(parseJson(text));
      if (!success) throw new Error('its job is not valid');
      const { isDamaged, altered } = data;
      const source = data.host
        ? await hostedSource(repository, data, data.host)
        : givenSource(repository, data);
      return newJob(source, { isDamaged, altered });
    },
  };

  async function hostedSource(
    name: string,
    { location }: JobFacts,
    { use, isPrivate, sizeBytes, remarks, fault }: NonNullable<JobFacts['host']>,
  ): Promise<Source> {
    const { hostUrl } = access.connection;
    const address = location.startsWith(`${hostUrl}/`) ? location.slice(hostUrl.length + 1) : '';
    const fullName = address.endsWith('.git') ? address.slice(0, -'.git'.length) : '';
    const isValid = isSafeFullName(fullName) && isNameOf(name, fullName, location);
    if (!isValid && fault === null) throw new Error('its job has an address of another host');
    const token = async () => (await tokens()).source(use);
    const { connection, notify } = access;
    const lookUp = () =>
      lookUpRepository(createGitHostClient({ connection, token, notify }), fullName);
    const isPublic = async () => {
      try {
        const found = await lookUp();
        return found.state === 'there' && !found.repository.private;
      } catch (error) {
        throw isLoginRefused(error) ? describeRefusedLogin(hostUrl, error) : error;
      }
    };
    return {
      name: isValid ? name : cleanText(name, 250),
      location: `${hostUrl}/${isValid ? fullName : ''}.git`,
      isLocal: false,
      protocols: new URL(hostUrl).protocol.slice(0, -1),
      host: {
        ...{ url: hostUrl, use, sizeBytes, remarks, fault, token },
        isPrivate: isPrivate || (mayPush && fault === null && !(await isPublic())),
        explain: async () => describeAccess(await lookUp(), fullName),
      },
    };
  }
}

function givenSource(name: string, { location }: JobFacts): Source {
  const source = parseLocation(location, '/');
  if (isOnThisMachine(source)) {
    throw new Error('its job has an address of another machine');
  }
  if (!isNameOf(name, source.name, location)) throw new Error('its job has another name');
  return { ...source, name };
}

/** Whether a source with this address may be backed up under a name. */
function isNameOf(name: string, given: string, location: string): boolean {
  return name === given || name === otherName(given, location);
}
