import { getSystemHealth } from '../tools/overview-tools.ts';
import type { Resource } from './offers.ts';

/** The resources of spec 3, Resources and their fields. */
export const resources: readonly Resource[] = [
  {
    uri: 'backup://system/health',
    name: 'system health state',
    title: 'System health',
    description:
      'Whether the database, the storage of the archives and the service API answer: what get_system_health returns.',
    read: async (handles, signal) => getSystemHealth.handler({}, handles, { signal }),
  },
  {
    uri: 'backup://runs/latest',
    name: 'latest backup run summary',
    title: 'Latest backup run',
    description:
      'The backup run that started last, with the fixes that are linked to it; run is null while there is none.',
    read: async ({ backups }, signal) => ({ run: await backups.readLatestRun(signal) }),
  },
];
