import { loadEnvironment as loadFrom } from '../lib/config/environment.ts';
import type { Environment } from '../lib/config/read.ts';

/** The environment of a command: the process's own, then `.env`, then `DATA_DIR/local.env`. */
export function loadEnvironment(): Environment {
  return loadFrom(process.env, process.cwd()).environment;
}
