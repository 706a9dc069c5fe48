import { resolve } from 'node:path';
import { z } from 'zod';
import { port, wholeNumber } from './values.ts';

const postgresUrl = z.url({
  protocol: /^postgres(ql)?$/,
  error: 'must be a postgres:// URL',
});

/** Where the data is (decisions 2). */
export const databaseVariables = z.object({
  DATABASE_URL: postgresUrl
    .optional()
    .describe(
      'Postgres. A Neon host goes through its serverless driver, any other through `pg`. Unset: the embedded database in DATA_DIR',
    ),
  DATABASE_POOL_SIZE: wholeNumber(1, 1_000)
    .default(10)
    .describe(
      'most connections of a server or function through `pg`; no more than there are cores where Postgres shares the machine',
    ),
  DATA_DIR: z
    .string()
    .default('.data')
    .transform((path) => resolve(path))
    .describe('embedded database, archives and generated local secrets'),
  EMBEDDED_DB_PORT: port
    .default(54329)
    .describe(
      'the embedded database also listens here on 127.0.0.1 (Postgres protocol); 0 turns it off',
    ),
});

/** `databaseVariables` as they were read. */
export type DatabaseConfig = z.output<typeof databaseVariables>;
