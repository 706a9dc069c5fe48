import { resolve } from 'node:path';
import * as z from 'zod';
import { port, wholeNumber } from './values.ts';

const postgresUrl = z.url({
  protocol: /^postgres(ql)?$/,
  error: 'must be a postgres:// URL',
});

const MIN_PASSWORD_LENGTH = 12;

/** The database. */
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
    .default(0)
    .describe(
      'the embedded database of `npm start` also listens here on 127.0.0.1, with EMBEDDED_DB_PASSWORD; 0 is no port',
    ),
  EMBEDDED_DB_PASSWORD: z
    .string()
    .regex(/^[\x21-\x7e]*$/, 'must have letters, digits and marks of ASCII alone')
    .min(MIN_PASSWORD_LENGTH, `must have at least ${MIN_PASSWORD_LENGTH} characters`)
    .optional()
    .describe(
      'password of the user postgres on EMBEDDED_DB_PORT; `npm start` without a `.env` makes one when the port is set',
    ),
});

/** `databaseVariables` as they were read. */
export type DatabaseConfig = z.output<typeof databaseVariables>;
