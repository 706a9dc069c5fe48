import { homedir } from 'node:os';
import { isAbsolute, join, resolve } from 'node:path';
import * as z from 'zod';
import type { Environment } from './read.ts';
import { secureUrl, wholeNumber } from './values.ts';

const accountName = z
  .string()
  .regex(/^[a-z\d][a-z\d_-]{0,99}$/i, 'must be the name of an account of the git host');

// Allows only valid header characters, to catch stray line breaks.
const token = z.string().regex(/^[\x21-\x7e]+$/, 'must be a token, without spaces or line breaks');

const GITHUB = 'https://github.com';

/** The git host: its addresses, what to back up from it, and where to push archives. */
export const gitHostVariables = z.object({
  GIT_HOST_URL: secureUrl
    .default(GITHUB)
    .transform((address) => (URL.canParse(address) ? new URL(address).origin : address))
    .describe('the git host: github.com or a GitHub Enterprise host'),
  GIT_API_URL: secureUrl
    .optional()
    .transform((address) => address?.replace(/\/+$/, ''))
    .describe(
      'URL of its API; default https://api.github.com, or `<GIT_HOST_URL>/api/v3` (api.… for ghe.com hosts)',
    ),
  GIT_APP_CLIENT_ID: z
    .string()
    .regex(/^[\w.-]+$/, 'must be the client id of an app')
    .optional()
    .describe('client id of the GitHub App used to log in; default: from app.json'),
  GIT_DISCOVERY: z
    .enum(['auto', 'accounts'], 'must be auto or accounts')
    .default('auto')
    .describe(
      'which repositories are backed up; auto: those of the app installations; accounts: those of ORG_ACCOUNT and PROJECT_ACCOUNT',
    ),
  ORG_ACCOUNT: accountName.optional().describe('an account whose repositories are backed up'),
  PROJECT_ACCOUNT: accountName
    .optional()
    .describe('another account whose repositories are backed up'),
  GIT_TOKEN_PERSONAL: token
    .optional()
    .describe('token for PROJECT_ACCOUNT, used if there is no stored login'),
  GIT_TOKEN_PRIVATE: token
    .optional()
    .describe(
      'token for ORG_ACCOUNT and its private repositories, used if there is no stored login',
    ),
  BACKUP_REPO_PATH: z
    .string()
    .refine(
      isDestination,
      'must be a path, an ssh URL or an https URL without credentials (http to loopback only)',
    )
    .optional()
    .describe('where archives are pushed: a repository URL (https or ssh) or a local path'),
  BACKUP_REPO_LAYOUT: z
    .enum(['parts', 'files'], 'must be parts or files')
    .optional()
    .describe(
      'how archives are kept there: parts (one push per run, increments, no size limit) or files (one file per archive, at the root); default: files if there are archives at its root, otherwise parts',
    ),
  BACKUP_REPO_MAX_SIZE: wholeNumber(1, 100_000_000)
    .optional()
    .describe(
      'size in MiB above which that repository is restarted without its history, keeping all versions that are kept; only in the layout `parts`; default no limit',
    ),
  BACKUP_CONFIG_DIR: z
    .string()
    .optional()
    .transform((path) => (path === undefined ? undefined : resolve(path)))
    .describe(
      'folder of app.json and credentials.json; default `$XDG_CONFIG_HOME/backup-observatory` or `~/.config/backup-observatory`',
    ),
});

export type GitHostConfig = z.output<typeof gitHostVariables>;

/** The folder of app.json and credentials.json. */
export function configFolder(
  { BACKUP_CONFIG_DIR }: Pick<GitHostConfig, 'BACKUP_CONFIG_DIR'>,
  environment: Environment,
): string {
  if (BACKUP_CONFIG_DIR !== undefined) return BACKUP_CONFIG_DIR;
  const { XDG_CONFIG_HOME = '', HOME } = environment;
  // The XDG specification says to ignore relative paths.
  const base = isAbsolute(XDG_CONFIG_HOME) ? XDG_CONFIG_HOME : join(HOME || homedir(), '.config');
  return join(base, 'backup-observatory');
}

/**
 * The URL of the host's API, without a trailing slash. Derived from GIT_HOST_URL, so that tokens of another
 * host are never sent to github.com.
 */
export function gitApiUrl({ GIT_HOST_URL, GIT_API_URL }: GitHostConfig): string {
  if (GIT_API_URL !== undefined) return GIT_API_URL;
  const { protocol, host } = new URL(GIT_HOST_URL);
  const hasApiName = GIT_HOST_URL === GITHUB || host.endsWith('.ghe.com');
  return hasApiName ? `${protocol}//api.${host}` : `${GIT_HOST_URL}/api/v3`;
}

function isDestination(text: string): boolean {
  if (!/^[a-z][a-z\d+.-]*:\/\//i.test(text)) return !/^\S+:[^\s@/]*@/.test(text);
  if (!URL.canParse(text)) return false;
  const { protocol, username, password } = new URL(text);
  if (protocol === 'ssh:') return password === '';
  if (protocol === 'file:') return true;
  return username === '' && password === '' && secureUrl.safeParse(text).success;
}
