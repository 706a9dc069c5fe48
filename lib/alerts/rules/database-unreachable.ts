import type { Rule } from './rule.ts';

/** The database could not be reached. An evaluation needs it, so it resolves the incident. */
export const databaseUnreachable: Rule = {
  name: 'database_unreachable',
  title: 'The database cannot be reached',
  severity: 'critical',
  when: 'A worker cannot reach the database at the end of a run, or the server for 10 minutes. Alerted only through the ALERT_CHANNELS of that machine, because channels added on the page are in the database.',
  advice: 'Start the database, or `npm start` for the embedded one.',
  resolved: 'The database can be reached again.',
  find: async () => [],
};
