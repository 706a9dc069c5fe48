import { createHash, randomBytes } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Decrypter, Encrypter, generateIdentity, identityToRecipient } from 'age-encryption';
import { describe, expect, it } from 'vitest';
import { createCipher, decrypt, encryptFile } from '../../lib/stores/base/age-file.ts';
import { DecryptionFailed } from '../../lib/stores/base/age-payload.ts';
import { useTemporaryFolder } from '../support/folders.ts';

const folder = useTemporaryFolder();

const identity = await generateIdentity();
const recipient = await identityToRecipient(identity);

async function collect(bytes: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of bytes) chunks.push(Buffer.from(chunk));
  return Buffer.concat(chunks);
}

/** Splits bytes into pieces of a size. */
async function* inPieces(bytes: Uint8Array, size = 50_000): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

const sizes = [0, 1, 65_535, 65_536, 65_537, 131_072, 300_000];

describe.each(sizes)('a file of %i bytes', (size) => {
  const plain = randomBytes(size);

  it('is decrypted by the library', async () => {
    const sealed = await collect(createCipher([recipient]).encrypt(inPieces(plain)));
    const decrypter = new Decrypter();
    decrypter.addIdentity(identity);
    expect(Buffer.from(await decrypter.decrypt(sealed)).equals(plain)).toBe(true);
  });

  it('is decrypted if the library encrypted it', async () => {
    const encrypter = new Encrypter();
    encrypter.addRecipient(recipient);
    const sealed = await encrypter.encrypt(plain);
    for (const piece of [1_000, 65_536, 1_000_000]) {
      const opened = await collect(decrypt(inPieces(sealed, piece), [identity]));
      expect(opened.equals(plain)).toBe(true);
    }
  });

  it('is rejected if it was altered, cut short or extended', async () => {
    const sealed = await collect(createCipher([recipient]).encrypt(inPieces(plain)));
    const flipped = Buffer.from(sealed);
    flipped[flipped.length - 20] = (flipped.at(-20) ?? 0) ^ 1;
    const damaged = [
      flipped,
      sealed.subarray(0, -1),
      sealed.subarray(0, -17),
      Buffer.concat([sealed, Buffer.from([0])]),
      Buffer.concat([sealed, sealed.subarray(-16)]),
    ];
    for (const text of damaged) {
      await expect(collect(decrypt(inPieces(text), [identity]))).rejects.toThrow(DecryptionFailed);
    }
  });
});

it('a file that was cut off after a complete chunk is rejected', async () => {
  const sealed = await collect(createCipher([recipient]).encrypt(inPieces(randomBytes(131_072))));
  const cut = sealed.subarray(0, sealed.length - 65_536 - 16);
  await expect(collect(decrypt(inPieces(cut), [identity]))).rejects.toThrow(DecryptionFailed);
});

it('a file is decrypted by any of several recipients, and by nobody else', async () => {
  const others = [await generateIdentity(), await generateIdentity()];
  const recipients = await Promise.all(others.map(identityToRecipient));
  const sealed = await collect(createCipher(recipients).encrypt(inPieces(Buffer.from('text'))));
  for (const other of others) {
    expect(String(await collect(decrypt(inPieces(sealed), [other])))).toBe('text');
  }
  await expect(collect(decrypt(inPieces(sealed), [identity]))).rejects.toThrow(DecryptionFailed);
});

it.each([
  ['nothing', Buffer.alloc(0)],
  ['text', Buffer.from('hello\n--- x\n and more that is no header')],
  ['a lot without a header', Buffer.alloc(3_000_000, 'a')],
])('decrypt rejects %s', async (_what, text) => {
  await expect(collect(decrypt(inPieces(text), [identity]))).rejects.toThrow(DecryptionFailed);
});

it('decrypt passes on an error of its source', async () => {
  const sealed = await collect(createCipher([recipient]).encrypt(inPieces(randomBytes(100_000))));
  async function* failing() {
    yield sealed.subarray(0, 70_000);
    throw new Error('the connection was lost');
  }
  await expect(collect(decrypt(failing(), [identity]))).rejects.toThrow('the connection was lost');
});

it('a file is decrypted from a chunk, which cannot pass for another one', async () => {
  const plain = randomBytes(300_000);
  const sealed = await collect(createCipher([recipient]).encrypt(inPieces(plain)));
  let header = Buffer.alloc(0);
  const onHeader = async (bytes: Uint8Array) => {
    header = Buffer.from(bytes);
  };
  await collect(decrypt(inPieces(sealed), [identity], { onHeader }));
  const rest = sealed.subarray(header.length + 2 * (65_536 + 16));
  const open = (firstChunk: number) =>
    collect(decrypt(inPieces(Buffer.concat([header, rest])), [identity], { firstChunk }));
  expect((await open(2)).equals(plain.subarray(2 * 65_536))).toBe(true);
  await expect(open(1)).rejects.toThrow(DecryptionFailed);
});

it('encryptFile encrypts a large file and returns its size and hashes', async () => {
  const plain = randomBytes(3_333_333);
  await writeFile(join(folder, 'plain'), plain);
  const to = join(folder, 'sealed');
  const signal = new AbortController().signal;
  const made = await encryptFile(join(folder, 'plain'), to, createCipher([recipient]), signal);
  const sealed = await readFile(to);
  const sha256 = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex');
  expect(made).toEqual({
    sha256: sha256(sealed),
    sizeBytes: sealed.length,
    plainSha256: sha256(plain),
  });
  expect((await collect(decrypt(inPieces(sealed), [identity]))).equals(plain)).toBe(true);
});

it('encryptFile stops when its signal aborts', async () => {
  await writeFile(join(folder, 'plain'), randomBytes(3_000_000));
  const stop = new AbortController();
  const { encrypt } = createCipher([recipient]);
  const cipher = {
    async *encrypt(bytes: AsyncIterable<Uint8Array>) {
      for await (const piece of encrypt(bytes)) {
        stop.abort(new Error('stopped'));
        yield piece;
      }
    },
  };
  const work = encryptFile(join(folder, 'plain'), join(folder, 'sealed'), cipher, stop.signal);
  await expect(work).rejects.toThrow('stopped');
});
