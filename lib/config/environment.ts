import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { parseEnv } from 'node:util';
import { ConfigError, type Environment } from './read.ts';

/** The merged environment, and where each variable came from. */
export interface LoadedEnvironment {
  environment: Environment;
  hasEnvFile: boolean;
  /** The file that a variable came from; null if it came from the process environment. */
  fileOf(name: string): string | null;
  /** Where `npm start` stores generated secrets. */
  localEnvFile: string;
}

/**
 * Reads the process environment, `.env` and `DATA_DIR/local.env`; the first that sets a variable wins.
 * An empty value counts as unset.
 */
export function loadEnvironment(own: Environment, folder: string): LoadedEnvironment {
  const envFile = resolve(folder, '.env');
  const fromEnvFile = readEnvFile(envFile);
  const early = merge(own, fromEnvFile ?? {});
  const localEnvFile = resolve(folder, early.DATA_DIR || '.data', 'local.env');
  return {
    environment: merge(early, readEnvFile(localEnvFile) ?? {}),
    hasEnvFile: fromEnvFile !== null,
    localEnvFile,
    fileOf(name) {
      if (own[name]) return null;
      return fromEnvFile?.[name] ? envFile : localEnvFile;
    },
  };
}

/** Where DATA_DIR is, and how long it may take to answer, known without reading anything in it. */
export function environmentOutside(own: Environment, folder: string): Environment {
  const early = merge(own, readEnvFile(resolve(folder, '.env')) ?? {});
  return { ...early, DATA_DIR: resolve(folder, early.DATA_DIR || '.data') };
}

function merge(first: Environment, second: Environment): Environment {
  const merged = { ...first };
  for (const [name, value] of Object.entries(second)) merged[name] ||= value;
  return merged;
}

function readEnvFile(path: string): Environment | null {
  try {
    return parseEnv(readFileSync(path, 'utf8'));
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return null;
    throw new ConfigError(`cannot read ${path}: ${(cause as Error).message}`, { cause });
  }
}
