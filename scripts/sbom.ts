import { createHash } from 'node:crypto';
import { execa } from 'execa';
import { z } from 'zod';
import packageFile from '../package.json' with { type: 'json' };
import { runCommand } from './command.ts';
import { readLock } from './supply/lock.ts';

// `npm run -s sbom > sbom.cdx.json`: what ships, as a CycloneDX document, for a release. The same lock file
// gives the same bytes on every machine.

const usage = `usage: npm run -s sbom > sbom.cdx.json

Writes what ships as a CycloneDX document: every package of package-lock.json but those of development, with
version, licence and hash. The same lock file gives the same document on every machine.
`;

const reference = z.looseObject({ ref: z.string(), dependsOn: z.array(z.string()) });
const component = z.looseObject({ 'bom-ref': z.string() });
const document = z.looseObject({
  $schema: z.string(),
  bomFormat: z.literal('CycloneDX'),
  specVersion: z.string(),
  metadata: z.looseObject({
    timestamp: z.string(),
    component: component.extend({ name: z.string() }),
  }),
  components: z.array(component),
  dependencies: z.array(reference),
});

await runCommand(async () => {
  const [argument] = process.argv.slice(2);
  if (argument !== undefined) {
    process.stdout.write(usage);
    return argument === '--help' || argument === '-h' ? 0 : 1;
  }
  const { stdout } = await execa('npm', [
    'sbom',
    '--sbom-format=cyclonedx',
    '--sbom-type=application',
    '--package-lock-only',
  ]);
  // Not by npm's --omit=dev, which also leaves out what development needs beside us.
  const shipped = new Set(
    readLock(process.cwd())
      .filter(({ isDevelopment }) => !isDevelopment)
      .map(({ name, version }) => `${name}@${version}`),
  );
  const { serialNumber: _random, metadata, ...made } = document.parse(JSON.parse(stdout));
  const { timestamp: _now, ...about } = metadata;
  const root = about.component['bom-ref'];
  // What we need for development alone may be there because something that ships needs it.
  const own = new Set(Object.entries(packageFile.dependencies).map((it) => it.join('@')));
  const isNeeded = (by: string, on: string) => shipped.has(on) && (by !== root || own.has(on));
  const content = {
    ...made,
    // npm takes the name of the folder.
    metadata: { ...about, component: { ...about.component, name: packageFile.name } },
    components: made.components
      .filter((it) => shipped.has(it['bom-ref']))
      .toSorted((a, b) => compare(a['bom-ref'], b['bom-ref'])),
    dependencies: made.dependencies
      .filter(({ ref }) => shipped.has(ref) || ref === root)
      .map((it) => ({
        ...it,
        dependsOn: it.dependsOn.filter((on) => isNeeded(it.ref, on)).toSorted(),
      }))
      .toSorted((a, b) => compare(a.ref, b.ref)),
  };
  const digest = createHash('sha256').update(JSON.stringify(content)).digest('hex');
  const serialNumber = `urn:uuid:${digest.slice(0, 8)}-${digest.slice(8, 12)}-8${digest.slice(13, 16)}-8${digest.slice(17, 20)}-${digest.slice(20, 32)}`;
  process.stdout.write(`${JSON.stringify({ ...content, serialNumber }, null, 2)}\n`);
  return 0;
});

/** By code points: the language of the machine makes no difference. */
function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
