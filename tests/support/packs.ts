import { createHash } from 'node:crypto';
import { deflateSync } from 'node:zlib';

/** Makes trees that would take git's own commands too long, as a bundle of one commit on `main`. */
export function bundleOf(makeTree: (pack: PackWriter) => string): Buffer {
  const pack = createPack();
  const tree = makeTree(pack);
  const person = 'Ada <ada@example.org> 1767323045 +0000';
  const text = `tree ${tree}\nauthor ${person}\ncommitter ${person}\n\nhostile\n`;
  const commit = pack.add('commit', Buffer.from(text));
  const header = `# v2 git bundle\n${commit} refs/heads/main\n${commit} HEAD\n\n`;
  return Buffer.concat([Buffer.from(header), pack.finish()]);
}

export interface PackWriter {
  /** Adds an object and returns its id. */
  add(type: 'commit' | 'tree' | 'blob', bytes: Buffer): string;
}

/** An entry of a tree as git stores it. */
export function treeEntry(mode: '100644' | '40000', name: string, id: string): Buffer {
  return Buffer.concat([Buffer.from(`${mode} ${name}\0`), Buffer.from(id, 'hex')]);
}

const types = { commit: 1, tree: 2, blob: 3 };

function createPack() {
  const chunks: Buffer[] = [];
  let count = 0;
  return {
    add(type: keyof typeof types, bytes: Buffer): string {
      chunks.push(sizeOf(types[type], bytes.length), deflateSync(bytes));
      count++;
      return createHash('sha1').update(`${type} ${bytes.length}\0`).update(bytes).digest('hex');
    },
    finish(): Buffer {
      const head = Buffer.from('PACK\0\0\0\u0002\0\0\0\0', 'latin1');
      head.writeUInt32BE(count, 8);
      const pack = Buffer.concat([head, ...chunks]);
      return Buffer.concat([pack, createHash('sha1').update(pack).digest()]);
    },
  };
}

/** The type and size of an object: four bits of the size, then seven per byte. */
function sizeOf(type: number, size: number): Buffer {
  const bytes: number[] = [];
  let left = Math.floor(size / 16);
  let byte = (type << 4) | (size % 16);
  for (; left > 0; left = Math.floor(left / 128)) {
    bytes.push(byte | 0x80);
    byte = left % 128;
  }
  return Buffer.from([...bytes, byte]);
}
