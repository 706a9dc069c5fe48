import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { getCACertificates } from 'node:tls';
import type { Environment } from '../config/read.ts';
import { replaceFile } from '../durable-files.ts';
import { isSystemError, nullIfMissing } from '../files.ts';
import { createGit, isGitFailure } from './git.ts';
import { gitSettings } from './git-credential.ts';

/** Where systems keep the authorities that they trust. */
const SYSTEM_FILES = [
  '/etc/ssl/certs/ca-certificates.crt',
  '/etc/pki/tls/certs/ca-bundle.crt',
  '/etc/ssl/ca-bundle.pem',
  '/etc/ssl/cert.pem',
];

interface Trusting {
  /** The environment of git. */
  environment: Environment;
  /** Where the file for git is kept. */
  folder: string;
  signal: AbortSignal;
  /** Called if git cannot be given the authorities. */
  onRemark(text: string): void;
}

/**
 * The environment in which git also trusts the authorities of NODE_EXTRA_CA_CERTS. git takes one file and then ignores
 * all others, so the file made for it also has those that it would trust otherwise.
 */
export async function trustInGit({
  environment,
  folder,
  signal,
  onRemark,
}: Trusting): Promise<Environment> {
  const { NODE_EXTRA_CA_CERTS: extra } = environment;
  if (!extra) return environment;
  const file = join(folder, 'git-authorities.pem');
  try {
    const added = await readFile(extra, 'utf8');
    const content = [...(await readTrusted(environment, signal)), added].join('\n');
    await mkdir(folder, { recursive: true, mode: 0o700 });
    if ((await nullIfMissing(readFile(file, 'utf8'))) !== content) await replaceFile(file, content);
  } catch (error) {
    if (!isSystemError(error)) throw error;
    onRemark(`git does not trust the authorities of NODE_EXTRA_CA_CERTS: ${error.message}`);
    return environment;
  }
  if (environment.GIT_SSL_CAINFO) return { ...environment, GIT_SSL_CAINFO: file };
  // As a setting, which one of the user for a single host still overrides.
  return { ...environment, ...gitSettings(environment, [['http.sslCAInfo', file]]) };
}

/** The authorities that git trusts by itself: those of one file that the user has chosen, or all that are known here. */
async function readTrusted(environment: Environment, signal: AbortSignal): Promise<string[]> {
  const chosen = environment.GIT_SSL_CAINFO || (await readSetting(environment, signal));
  if (chosen) return [await readFile(chosen, 'utf8')];
  const files = [
    ...(environment.SSL_CERT_FILE ? [environment.SSL_CERT_FILE] : []),
    ...SYSTEM_FILES,
  ];
  const read = await Promise.all(files.map((file) => nullIfMissing(readFile(file, 'utf8'))));
  return [...read.filter((text) => text !== null), ...getCACertificates('bundled')];
}

async function readSetting(environment: Environment, signal: AbortSignal): Promise<string> {
  try {
    const git = createGit(environment, signal);
    return (await git.read(['config', '--type=path', '--get', 'http.sslCAInfo'])).trimEnd();
  } catch (error) {
    // It is not set.
    if (isGitFailure(error)) return '';
    throw error;
  }
}
