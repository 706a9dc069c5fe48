import type { Rule } from './rule.ts';

/** The worker could not reach the database. An evaluation needs the database, so it resolves the incident. */
export const databaseUnreachable: Rule = {
  name: 'database_unreachable',
  title: 'The database cannot be reached',
  severity: 'critical',
  when: 'A worker cannot reach the database at the end of a run. The worker sends this alert itself, through the ALERT_CHANNELS of its machine.',
  advice: 'Start the database, or `npm start` for the embedded one.',
  resolved: 'The database can be reached again.',
  find: async () => [],
};
