import type { Git } from '../../git/git.ts';
import { incomplete } from '../base/archive-fault.ts';
import type { Objects } from './list-tree.ts';

/** Contents of blobs, one after the other. Each must be read to its end before the next. */
interface BlobReader {
  next(): Promise<AsyncIterable<Uint8Array>>;
  close(): Promise<void>;
}

const NEWLINE = 0x0a;
/** A line of git before each blob: its id, `blob` and its size. */
const MAX_HEADER_BYTES = 200;

/** Reads many blobs with one git process, in the order of their ids. */
export function readBlobs(
  { git, gitDir }: Objects,
  blobs: readonly { id: string; size: number }[],
  { timeoutMs }: { timeoutMs: number },
): BlobReader {
  const output = new ByteReader(
    git.chunks([`--git-dir=${gitDir}`, 'cat-file', '--batch'], {
      stdin: blobs.map(({ id }) => `${id}\n`).join(''),
      timeoutMs,
    }),
  );
  let at = 0;
  return {
    async next() {
      const blob = blobs[at++];
      if (blob === undefined) throw new Error('there are no more blobs');
      const header = await output.line();
      if (header !== `${blob.id} blob ${blob.size}`) {
        throw incomplete(`the bundle does not contain the object ${blob.id}, which it needs`);
      }
      return output.take(blob.size);
    },
    close: () => output.close(),
  };
}

/** Reads parts of a stream of bytes. */
class ByteReader {
  readonly #chunks: AsyncIterator<Uint8Array>;
  #rest: Uint8Array = Buffer.alloc(0);

  constructor(chunks: ReturnType<Git['chunks']>) {
    this.#chunks = chunks[Symbol.asyncIterator]();
  }

  async #fill(): Promise<void> {
    const { done, value } = await this.#chunks.next();
    if (done) throw new Error('git ended before it wrote everything');
    this.#rest = this.#rest.length === 0 ? value : Buffer.concat([this.#rest, value]);
  }

  /** A line without its newline. */
  async line(): Promise<string> {
    for (;;) {
      const end = this.#rest.indexOf(NEWLINE);
      if (end !== -1) {
        const line = Buffer.from(this.#rest.subarray(0, end)).toString();
        this.#rest = this.#rest.subarray(end + 1);
        return line;
      }
      if (this.#rest.length > MAX_HEADER_BYTES)
        throw new Error('git wrote a line that is too long');
      await this.#fill();
    }
  }

  /** The next bytes, and the newline after them. */
  async *take(size: number): AsyncGenerator<Uint8Array> {
    for (let left = size; left > 0; ) {
      if (this.#rest.length === 0) await this.#fill();
      const part = this.#rest.subarray(0, left);
      this.#rest = this.#rest.subarray(part.length);
      left -= part.length;
      yield part;
    }
    if (this.#rest.length === 0) await this.#fill();
    this.#rest = this.#rest.subarray(1);
  }

  /** Stops git. */
  async close(): Promise<void> {
    await this.#chunks.return?.();
  }
}
