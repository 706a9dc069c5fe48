import { Client } from 'pg';

/** A separate connection to a database, for plain SQL like that of another program. */
export async function connect(url: string): Promise<Client> {
  const client = new Client({ connectionString: url });
  await client.connect();
  return client;
}

/** The file of the Unix socket that a URL names. */
export function socketOf(url: string): string {
  const { searchParams } = new URL(url);
  return `${searchParams.get('host')}/.s.PGSQL.${searchParams.get('port')}`;
}

/** The URL of another database on the same server. */
export function databaseUrl(serverUrl: string, name: string): string {
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  return url.href;
}
