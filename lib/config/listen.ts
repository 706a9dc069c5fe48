import * as z from 'zod';
import { port } from './values.ts';

/** Where `npm start` listens. */
export const listenVariables = z.object({
  HOST: z.string().default('127.0.0.1').describe('address that `npm start` binds'),
  PORT: port.optional().describe('port that `npm start` listens on; default 8080'),
  SERVER_PORT: port.optional().describe('used if PORT is unset'),
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
