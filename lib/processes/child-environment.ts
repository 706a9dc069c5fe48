import { variableGroups } from '../config/groups.ts';
import type { Environment } from '../config/read.ts';
import { secretNames } from '../config/secrets.ts';

const ours: ReadonlySet<string> = new Set([
  ...Object.values(variableGroups).flatMap((group) => Object.keys(group.shape)),
  ...secretNames,
]);

/** The environment for external programs, without our own variables and thus without our secrets. */
export function childEnvironment(environment: Environment): Environment {
  return Object.fromEntries(Object.entries(environment).filter(([name]) => !ours.has(name)));
}
