import { configFolder, gitHostVariables } from '../../config/git-host.ts';
import { readConfig } from '../../config/read.ts';
import type { WorkerOptions } from '../command-context.ts';
import { openHostAccess } from '../host-access.ts';
import { openLoginStore } from '../logins/login-store.ts';
import { createGitStoreAccess } from './git-store-access.ts';

/** How a command without a database uses git repositories as stores. Throws ConfigError. */
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
