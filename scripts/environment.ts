import type { Environment } from '../lib/platform/config/read.ts';
import { loadEnvironment as loadFrom } from '../lib/platform/environment.ts';

/** The environment of a command: the process's own, then `.env`, then `DATA_DIR/local.env`. */
export function loadEnvironment(): Environment {
  return loadFrom(process.env, process.cwd()).environment;
}
