import type { Rule } from './rule.ts';

/** The worker could not reach the database. What is evaluated in the database finds it there again. */
export const databaseUnreachable: Rule = {
  name: 'database_unreachable',
  title: 'The database cannot be reached',
  severity: 'critical',
  when: 'A worker cannot reach the database at the end of a run. The worker tells it by itself, through ALERT_CHANNELS of its machine.',
  advice: 'Start the database, or `npm start` for the embedded one.',
  resolved: 'The database can be reached again.',
  find: async () => [],
};
