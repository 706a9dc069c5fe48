import { randomUUID } from 'node:crypto';
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { TestDatabase } from './databases.ts';
import { copyFolder, useSharedFolder } from './folders.ts';
import { backupTables, sql } from './records.ts';

/** The state after the steps, to be restored later. */
interface Saved<Result> {
  result: Result;
  /** The folder with the copies of folders. */
  copies: string;
  /** The schema with the copies of tables. */
  schema: string;
}

/**
 * Takes steps that several tests begin with only once: the first test does them, and each later one gets a copy of the
 * folders and of all backup data as they were afterwards. Steps with other arguments are different steps.
 */
export function prepareOnce<Args extends unknown[], Result>(
  world: { readonly folders: string[] },
  database: TestDatabase,
  steps: (...args: Args) => Promise<Result>,
): (...args: Args) => Promise<Result> {
  const root = useSharedFolder();
  const done = new Map<string, Saved<Result>>();
  return async (...args) => {
    const id = JSON.stringify(args);
    const saved = done.get(id);
    if (saved !== undefined) {
      await putBack(saved, world.folders, database);
      return saved.result;
    }
    const result = await steps(...args);
    done.set(id, await save(result, join(root, `${done.size}`), world.folders, database));
    return result;
  };
}

async function save<Result>(
  result: Result,
  copies: string,
  folders: string[],
  { db }: TestDatabase,
): Promise<Saved<Result>> {
  for (const [index, folder] of folders.entries())
    await copyFolder(folder, join(copies, `${index}`));
  const schema = `saved_${randomUUID().slice(0, 8)}`;
  await sql(db, `CREATE SCHEMA ${schema}`);
  await sql(db, `CREATE TABLE ${schema}.ids AS ${ids}`);
  await forEachTable(
    db,
    `EXECUTE format('CREATE TABLE ${schema}.%1$I AS TABLE public.%1$I', name)`,
  );
  return { result, copies, schema };
}

async function putBack(
  { copies, schema }: Saved<unknown>,
  folders: string[],
  { db }: TestDatabase,
): Promise<void> {
  for (const [index, folder] of folders.entries()) {
    for (const name of await readdir(folder)) await rm(join(folder, name), { recursive: true });
    await copyFolder(join(copies, `${index}`), folder);
  }
  // Summaries are not copied, because their triggers count rows in this role as well.
  await forEachTable(
    db,
    `PERFORM set_config('session_replication_role', 'replica', true);
     EXECUTE format('DELETE FROM %I', name);
     EXECUTE format('INSERT INTO %1$I OVERRIDING SYSTEM VALUE TABLE ${schema}.%1$I', name)`,
  );
  // Unless the test has let ids start at 1 again, they continue where the last test ended.
  await sql(
    db,
    `SELECT setval(quote_ident(name)::regclass, greatest(saved.last, now.last))
     FROM ${schema}.ids AS saved JOIN (${ids}) AS now USING (name)`,
  );
}

const ids =
  "SELECT sequencename AS name, last_value AS last FROM pg_sequences WHERE schemaname = 'public'";

function forEachTable(db: TestDatabase['db'], statement: string) {
  const names = backupTables.map((name) => `'${name}'`).join(', ');
  return sql(
    db,
    `DO $do$ DECLARE name text; BEGIN
      FOREACH name IN ARRAY ARRAY[${names}] LOOP ${statement}; END LOOP;
    END $do$`,
  );
}
