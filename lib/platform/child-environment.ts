import { variableGroups } from './config/groups.ts';
import type { Environment } from './config/read.ts';
import { secretNames } from './config/secrets.ts';

const ours: ReadonlySet<string> = new Set([
  ...Object.values(variableGroups).flatMap((group) => Object.keys(group.shape)),
  ...secretNames,
]);

/** What a program of somebody else's gets of our environment: nothing that is ours, and so no secret. */
export function childEnvironment(environment: Environment): Environment {
  return Object.fromEntries(Object.entries(environment).filter(([name]) => !ours.has(name)));
}
