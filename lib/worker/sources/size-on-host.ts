import { RequestError } from '@octokit/request-error';
import { ZodError } from 'zod';
import { isRepositoryName } from '../../archives/base/archive-name.ts';
import type { GitHostConfig } from '../../config/git-host.ts';
import { createGitHostClient } from '../hosts/client.ts';
import { connectGitHost, type GitHostConnection } from '../hosts/connection.ts';
import { lookUpRepository } from '../hosts/look-up.ts';

/** How long the git host may take to say how large a repository is. */
const MAX_MS = 10_000;

/** Asks the configured git host how large a repository on it is, with a token of the environment if there is one. */
export function askSizeOnHost(
  config: GitHostConfig,
  deps: Pick<GitHostConnection, 'fetch' | 'clock' | 'signal'>,
): (location: string) => Promise<number | null> {
  return async (location) => {
    const url = URL.canParse(location) ? new URL(location) : null;
    const fullName = url?.pathname.replace(/^\/|\.git$|\/$/g, '') ?? '';
    if (url?.origin !== config.GIT_HOST_URL || !isRepositoryName(fullName)) return null;
    const signal = AbortSignal.any([deps.signal, AbortSignal.timeout(MAX_MS)]);
    const connection = connectGitHost(config, { ...deps, signal });
    const token = config.GIT_TOKEN_PRIVATE ?? config.GIT_TOKEN_PERSONAL ?? null;
    const client = createGitHostClient({
      ...{ connection, token: async () => token, notify: () => undefined },
    });
    try {
      const found = await lookUpRepository(client, fullName);
      const kib = found.state === 'there' ? found.repository.size : undefined;
      return kib === undefined ? null : kib * 1_024;
    } catch (error) {
      deps.signal.throwIfAborted();
      // It was reached by git. A host that does not say how large it is, or not in time, prevents nothing.
      const isExpected = error instanceof RequestError || error instanceof ZodError;
      if (isExpected || signal.aborted) return null;
      throw error;
    }
  };
}
