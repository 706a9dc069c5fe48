import { configFolder, gitHostVariables } from '../../../config/git-host.ts';
import { type Environment, readConfig } from '../../../config/read.ts';
import type { GitAddress } from '../../../config/stores/store-address.ts';
import { StoreFault, type StoreFaultKind } from '../../../stores/base/object-store.ts';
import type { GitStoreAccess } from '../../../stores/git/git-store-options.ts';
import type { WorkerOptions } from '../../base/command-context.ts';
import { classifyFault } from '../../base/git-faults.ts';
import { pauseBeforeRetry } from '../../base/repository-retries.ts';
import { type HostAccess, openHostAccess } from '../../logins/host-access.ts';
import { openLoginStore } from '../../logins/login-store.ts';
import { destinationCredential, explainRefusal } from './destination-login.ts';
import { createPrivacyCheck } from './privacy.ts';
import { targetOf } from './target.ts';

/** Lets a worker use git repositories as stores. Only those that are confirmed private receive anything. */
export function createGitStoreAccess(
  access: HostAccess,
  environment: Environment,
): GitStoreAccess & {
  /** Null if a repository is private, else why that is not confirmed. */
  findPrivacyProblem(address: GitAddress): Promise<string | null>;
} {
  const checks = new Map<string, () => Promise<string | null>>();
  const findPrivacyProblem = (address: GitAddress) => {
    const check = checks.get(address.location) ?? createPrivacyCheck(targetOf(address), access);
    checks.set(address.location, check);
    return check();
  };
  return {
    environment,
    findPrivacyProblem,
    credential: (address) => destinationCredential(targetOf(address), access),
    async beforePush(address) {
      const problem = await findPrivacyProblem(address);
      if (problem === null) return;
      const text = `a repository may be private, and the destination is not confirmed private: ${problem}`;
      throw new StoreFault('other', `${address.text}: ${text}`);
    },
    async explain(address, error) {
      const text = await explainRefusal(error, targetOf(address), access);
      const fault = classifyFault(error.message, error.fault);
      const kind = fault.isTransient ? 'away' : (kinds[fault.kind] ?? 'other');
      return new StoreFault(kind, `${address.text}: ${text}`, { cause: error });
    },
    pauseAfter: (error, tries) =>
      pauseBeforeRetry(classifyFault(error.message, error.fault), tries),
  };
}

const kinds: Partial<Record<ReturnType<typeof classifyFault>['kind'], StoreFaultKind>> = {
  ...{ disk: 'full', login: 'denied', missing: 'missing', damaged: 'damaged' },
};

/** Lets a command without a database use git repositories as stores. Throws ConfigError. */
export function openGitAccess(
  options: WorkerOptions,
  notify: (text: string) => void,
): ReturnType<typeof createGitStoreAccess> {
  const { environment, keychain } = options;
  const config = readConfig(gitHostVariables, environment);
  const folder = configFolder(config, environment);
  const store = openLoginStore({ folder, keychain, notify });
  return createGitStoreAccess(openHostAccess({ config, store }, options, notify), environment);
}
