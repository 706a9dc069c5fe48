import { loadEnvironment as loadFrom } from '../lib/config/environment.ts';
import type { Environment } from '../lib/config/read.ts';

/** The environment of a command: the process's own, `.env` and `DATA_DIR/local.env`, in this order. */
export function loadEnvironment(): Environment {
  return loadFrom(process.env, process.cwd()).environment;
}
