import { randomBytes } from 'node:crypto';
import { lstat, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** A planted secret: its value, and the part that is searched for. */
export interface Canary {
  name: string;
  value: string;
  core: string;
}

/**
 * Creates a secret for a name. The characters around its core are escaped differently by JSON and URLs, so that the
 * core still appears in forms that nobody thought of.
 */
export function makeCanary(name: string, wrap: (core: string) => string = awkward): Canary {
  const core = `cnry${randomBytes(9).toString('hex')}`;
  return { name, value: wrap(core), core };
}

const awkward = (core: string) => `a"/%+\\&<${core}>=~`;

/** For values that may only contain letters and digits. */
export const plain = (core: string) => `secret-${core}-end`;

/**
 * Finds canaries in a text or in bytes: unchanged, in hex, and in base64 at any offset. Returns each as
 * `name (form)`.
 */
export function findCanaries(content: string | Uint8Array, canaries: readonly Canary[]): string[] {
  const text = typeof content === 'string' ? content : Buffer.from(content).toString('latin1');
  const lower = text.toLowerCase();
  return canaries.flatMap(({ name, core }) => {
    const found: string[] = [];
    if (text.includes(core)) found.push(`${name} (as it is)`);
    else if (lower.includes(core)) found.push(`${name} (in another case)`);
    if (lower.includes(Buffer.from(core).toString('hex'))) found.push(`${name} (hex)`);
    if (base64Forms(core).some((form) => text.includes(form))) found.push(`${name} (base64)`);
    if (text.includes([...core].reverse().join(''))) found.push(`${name} (backwards)`);
    return found;
  });
}

const MIN_FORM_LENGTH = 4;

/** The base64 of a text at any offset, without characters that also encode neighbouring bytes. */
function base64Forms(core: string): string[] {
  const forms = [0, 1, 2].map((shift) => {
    const encoded = Buffer.from(`${'x'.repeat(shift)}${core}`).toString('base64');
    return encoded.slice(Math.ceil((shift * 8) / 6), -4);
  });
  // The rest of a short text would occur in any text.
  return forms.filter((form) => form.length >= MIN_FORM_LENGTH);
}

/** Finds canaries in every file of a folder, and in their names. */
export async function findInFiles(folder: string, canaries: readonly Canary[]): Promise<string[]> {
  const found: string[] = [];
  for (const name of await readdir(folder, { recursive: true })) {
    const path = join(folder, name);
    const isFile = (await lstat(path).catch(() => null))?.isFile() ?? false;
    const content = isFile ? await readFile(path) : '';
    const faults = [...findCanaries(name, canaries), ...findCanaries(content, canaries)];
    found.push(...faults.map((fault) => `${name}: ${fault}`));
  }
  return found;
}
