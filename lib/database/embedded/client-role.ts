import { PGlite } from '@electric-sql/pglite';

/** The role of all clients. It owns all tables, but has no access to the server's files. */
const CLIENT_ROLE = 'observatory';

/** Its extra privileges: CHECKPOINT, and VACUUM of the catalogs. */
const CLIENT_RIGHTS = ['pg_checkpoint', 'pg_maintain'];

/**
 * Runs as superuser. The catalogs come first on the search path, so that an operator created by a client
 * never runs as superuser. The superuser keeps the database itself, because a database's owner can set the
 * search path of the next session.
 *
 * Objects from before this role existed are handed over to it. Exceptions are objects of extensions, and
 * those that follow their table's owner (row types, sequences of columns).
 */
const makeRole = `
  BEGIN;
  SET LOCAL search_path = pg_catalog, pg_temp;
  DO $$
  DECLARE
    item record;
  BEGIN
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = '${CLIENT_ROLE}') THEN
      CREATE ROLE ${CLIENT_ROLE};
      GRANT ALL ON DATABASE postgres TO ${CLIENT_ROLE};
      ALTER SCHEMA public OWNER TO ${CLIENT_ROLE};
    END IF;
    GRANT ${CLIENT_RIGHTS.join(', ')} TO ${CLIENT_ROLE};
    FOR item IN
      SELECT roleid::regrole AS name FROM pg_auth_members
      WHERE member = '${CLIENT_ROLE}'::regrole
        AND roleid::regrole::text <> ALL ('{${CLIENT_RIGHTS.join(',')}}'::text[])
    LOOP
      EXECUTE format('REVOKE %s FROM ${CLIENT_ROLE}', item.name);
    END LOOP;
    FOR item IN
      SELECT described.type, described.identity
      FROM (
        SELECT 'pg_namespace'::regclass AS catalog, oid FROM pg_namespace
        WHERE nspowner = 10 AND nspname !~ '^pg_'
        UNION ALL
        SELECT 'pg_class'::regclass, oid FROM pg_class
        WHERE relowner = 10 AND relkind IN ('r', 'p', 'v', 'm', 'f', 'S')
        UNION ALL
        SELECT 'pg_proc'::regclass, oid FROM pg_proc WHERE proowner = 10
        UNION ALL
        SELECT 'pg_type'::regclass, oid FROM pg_type WHERE typowner = 10
        UNION ALL
        SELECT 'pg_collation'::regclass, oid FROM pg_collation WHERE collowner = 10
        UNION ALL
        SELECT 'pg_ts_config'::regclass, oid FROM pg_ts_config WHERE cfgowner = 10
        UNION ALL
        SELECT 'pg_ts_dict'::regclass, oid FROM pg_ts_dict WHERE dictowner = 10
      ) AS owned, pg_identify_object(owned.catalog, owned.oid, 0) AS described
      WHERE owned.oid >= 16384 AND coalesce(described.schema, '') !~ '^pg_' AND NOT EXISTS (
        SELECT FROM pg_depend
        WHERE classid = owned.catalog AND objid = owned.oid AND objsubid = 0
          AND (deptype IN ('e', 'i') OR deptype = 'a' AND described.type = 'sequence')
      )
    LOOP
      EXECUTE format('ALTER %s %s OWNER TO ${CLIENT_ROLE}', item.type, item.identity);
    END LOOP;
  END $$;
  ALTER ROLE ${CLIENT_ROLE} NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS;
  COMMIT`;

const VECTOR_CONTROL = `${PGlite.paths.PG_ROOT}/share/postgresql/extension/vector.control`;

/** The security context of SECURITY DEFINER functions: SET ROLE and SET SESSION AUTHORIZATION are refused. */
const SECURITY_LOCAL_USERID_CHANGE = 1;

const INSUFFICIENT_PRIVILEGE = '42501';

interface SecurityModule {
  _SetUserIdAndSecContext?(role: number, context: number): void;
  FS: {
    readFile(path: string, options: { encoding: 'utf8' }): string;
    writeFile(path: string, content: string): void;
  };
}

/**
 * Drops superuser privileges from the shared session, so that no client can access files or start programs
 * with it (COPY, lo_import, pg_read_file). A session that began as superuser could normally regain them; the
 * security context of SECURITY DEFINER functions prevents that.
 */
export async function takeClientRole(pglite: PGlite): Promise<void> {
  const module = pglite.Module as unknown as SecurityModule;
  // pgvector reads no files, and its source distribution marks it as trusted too.
  const described = module.FS.readFile(VECTOR_CONTROL, { encoding: 'utf8' });
  module.FS.writeFile(VECTOR_CONTROL, `${described}\ntrusted = true\n`);
  await pglite.exec(makeRole);
  // Fully qualified, so that nothing created by a client runs here.
  const { rows } = await pglite.query<{ oid: number }>(
    `SELECT '${CLIENT_ROLE}'::pg_catalog.regrole::pg_catalog.oid::pg_catalog.int4 AS oid`,
  );
  await pglite.exec(`SET SESSION AUTHORIZATION ${CLIENT_ROLE}`);
  module._SetUserIdAndSecContext?.(rows[0]?.oid ?? 0, SECURITY_LOCAL_USERID_CHANGE);
  const refusal = await pglite.exec('SET SESSION AUTHORIZATION DEFAULT').catch((error) => error);
  if (refusal?.code !== INSUFFICIENT_PRIVILEGE) {
    throw new Error('this version of PGlite cannot drop superuser privileges');
  }
}
