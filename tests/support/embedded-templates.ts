import { createHash } from 'node:crypto';
import { cpSync, existsSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '../../lib/clock.ts';
import { openEmbeddedDatabase } from '../../lib/database/embedded/open.ts';
import { migrate } from '../../lib/database/migrate.ts';
import { createLog } from '../../lib/log/log.ts';

/** Which embedded database tests copy: one without content, or one with our tables. */
export type Template = 'empty' | 'migrated';

/**
 * Returns the path of a folder with an embedded database for each template. Making one takes several seconds, so the
 * folder is kept between test runs.
 */
export async function makeEmbeddedTemplates(): Promise<string> {
  const path = join(tmpdir(), `observatory-templates-${await hashOfContent()}`);
  if (existsSync(path)) return path;
  const making = await mkdtemp(join(tmpdir(), 'observatory-making-'));
  const [empty, dataDir] = [join(making, 'empty'), join(making, 'migrated')];
  const log = createLog('warn', systemClock);
  const open = () => openEmbeddedDatabase({ dataDir, listen: null, log, clock: systemClock });
  await (await open()).close();
  cpSync(join(dataDir, 'postgres'), join(empty, 'postgres'), { recursive: true });
  const db = await open();
  await migrate(db, 'drizzle');
  await db.close();
  try {
    await rename(making, path);
  } catch (error) {
    // Another test run was faster.
    if (!existsSync(path)) throw error;
  }
  await rm(making, { recursive: true, force: true });
  return path;
}

/** Copies a template into a data directory that has no database yet. */
export function copyTemplate(templates: string, dataDir: string, template: Template): void {
  const place = join(dataDir, 'postgres');
  // The asynchronous form takes several times as long for so many small files.
  if (!existsSync(place)) {
    cpSync(join(templates, template, 'postgres'), place, { recursive: true });
  }
}

/** A hash of what the template is made from. */
async function hashOfContent(): Promise<string> {
  const hash = createHash('sha256');
  for (const folder of ['drizzle', 'drizzle/functions', 'lib/database/embedded']) {
    for (const name of (await readdir(folder)).sort()) {
      if (/\.(sql|ts)$/.test(name)) hash.update(await readFile(join(folder, name)));
    }
  }
  hash.update(await readFile('package-lock.json'));
  return hash.digest('hex').slice(0, 16);
}
