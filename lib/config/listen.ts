import * as z from 'zod';
import { port } from './values.ts';

/** Segments of letters, digits and `-._~`, which no proxy rewrites; `.` and `..` would be resolved. */
const basePath = z
  .string()
  .regex(
    /^(?:\/(?!\.{1,2}(?:\/|$))[\w.~-]+)*\/?$/,
    'must be a path like /backup, of letters, digits and `-._~`',
  )
  .transform((path) => path.replace(/\/$/, ''));

/** Where `npm start` listens. */
export const listenVariables = z.object({
  HOST: z.string().default('127.0.0.1').describe('address that `npm start` binds'),
  PORT: port.optional().describe('port that `npm start` listens on; default 8080'),
  SERVER_PORT: port.optional().describe('used if PORT is unset'),
  BASE_PATH: basePath
    .default('')
    .describe(
      'path below which a proxy publishes this server, such as `/backup`; default: none. See docs/deploy.md',
    ),
});

export type ListenConfig = z.output<typeof listenVariables>;

/** The port to listen on: PORT, SERVER_PORT or 8080, in this order. */
export function listenPort(config: ListenConfig): number {
  return config.PORT ?? config.SERVER_PORT ?? 8080;
}

/** The server's own URL; undefined when the system chooses the port. */
export function ownUrl(config: ListenConfig): string | undefined {
  const port = listenPort(config);
  if (port === 0) return undefined;
  if (['0.0.0.0', '::'].includes(config.HOST)) return `http://127.0.0.1:${port}`;
  return `http://${config.HOST.includes(':') ? `[${config.HOST}]` : config.HOST}:${port}`;
}
