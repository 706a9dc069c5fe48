/** What can be found: three kinds over HTTP (spec 2, Search result), fixes too by the MCP server. */
export const sourceTypes = [
  'execution_log',
  'backup_result',
  'investigation',
  'backup_fix',
] as const;

export type SourceType = (typeof sourceTypes)[number];

/** The kinds that POST /search knows. */
export const searchableTypes = ['execution_log', 'backup_result', 'investigation'] as const;
