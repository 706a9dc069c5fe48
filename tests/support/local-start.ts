import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { inject } from 'vitest';
import { copyTemplate } from './embedded-templates.ts';
import { type RunningScript, startScript } from './script.ts';

/** Ports chosen by the system, so that tests can run beside each other and beside a real server. */
export const freePorts = { PORT: '0', EMBEDDED_DB_PORT: '0' };

/** An empty folder in which to start a server, as after a fresh clone; `remove` deletes it. */
export async function emptyFolder(): Promise<{ path: string; remove(): Promise<void> }> {
  const path = await mkdtemp(join(tmpdir(), 'start-'));
  return { path, remove: () => rm(path, { recursive: true, force: true }) };
}

/**
 * Runs `npm start` in a folder until it is ready to answer at `url`. If there is no database yet, it is a copy of the
 * template, unless `isFirst`: then the server makes it.
 */
export async function startIn(
  cwd: string,
  env: Record<string, string> = {},
  { isFirst = false } = {},
): Promise<RunningScript & { url: string }> {
  if (!isFirst && env.DATABASE_URL === undefined) {
    const dataDir = resolve(cwd, env.DATA_DIR ?? '.data');
    copyTemplate(inject('embeddedTemplates'), dataDir, 'migrated');
  }
  const script = startScript('start', { cwd, env: { ...freePorts, ...env } });
  const [, url = ''] = await script.waitFor(/API +(http:\/\/\S+)\/api/);
  return { ...script, url };
}
