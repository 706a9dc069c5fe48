/** All source types. Fixes are only searched by the MCP server. */
export const sourceTypes = [
  'execution_log',
  'backup_result',
  'investigation',
  'backup_fix',
] as const;

export type SourceType = (typeof sourceTypes)[number];

/** The source types of POST /search. */
export const searchableTypes = ['execution_log', 'backup_result', 'investigation'] as const;
