const dropPrepared = `DO $$
  DECLARE statement text;
  BEGIN
    FOR statement IN SELECT name FROM pg_prepared_statements WHERE from_sql LOOP
      EXECUTE format('DEALLOCATE %I', statement);
    END LOOP;
  END $$`;

/**
 * Tracks which clients created temporary tables and SQL PREPARE statements. Postgres cannot tell these
 * apart by client, so they are dropped when the last of these clients leaves.
 */
export class SessionLeftovers {
  readonly #tableMakers = new Set<object>();
  readonly #preparers = new Set<object>();

  /** Inspects an SQL text before it runs. */
  noteText(client: object, sql: string): void {
    if (/\btemp(orary)?\b/i.test(sql)) this.#tableMakers.add(client);
    if (/\bprepare\b/i.test(sql)) this.#preparers.add(client);
  }

  /** Returns the SQL to run after this client has left. */
  leave(client: object): string[] {
    const statements: string[] = [];
    if (this.#preparers.delete(client) && this.#preparers.size === 0) statements.push(dropPrepared);
    if (this.#tableMakers.delete(client) && this.#tableMakers.size === 0) {
      statements.push('DISCARD TEMP');
    }
    return statements;
  }
}
