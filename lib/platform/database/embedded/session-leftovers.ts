const dropPrepared = `DO $$
  DECLARE statement text;
  BEGIN
    FOR statement IN SELECT name FROM pg_prepared_statements WHERE from_sql LOOP
      EXECUTE format('DEALLOCATE %I', statement);
    END LOOP;
  END $$`;

/**
 * Remembers who made what Postgres keeps for a session: temporary tables and statements of SQL's
 * PREPARE. They cannot be told apart by client, so they go when the last of those clients goes.
 */
export class SessionLeftovers {
  readonly #tableMakers = new Set<object>();
  readonly #preparers = new Set<object>();

  /** Looks at an SQL text before it runs. */
  noteText(client: object, sql: string): void {
    if (/\btemp(orary)?\b/i.test(sql)) this.#tableMakers.add(client);
    if (/\bprepare\b/i.test(sql)) this.#preparers.add(client);
  }

  /** The SQL to run when this client has gone, if any. */
  leave(client: object): string[] {
    const statements: string[] = [];
    if (this.#preparers.delete(client) && this.#preparers.size === 0) statements.push(dropPrepared);
    if (this.#tableMakers.delete(client) && this.#tableMakers.size === 0) {
      statements.push('DISCARD TEMP');
    }
    return statements;
  }
}
