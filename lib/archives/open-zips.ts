import { PassThrough } from 'node:stream';

/** Zips that are being written, each as fast as it is read. */
export interface OpenZips {
  /**
   * Begins a zip; `write` calls its argument once it has found everything that it needs, and writes to what that
   * returns. Throws what `write` throws until then.
   */
  open(
    write: (
      ready: (date: string) => Promise<NodeJS.WritableStream>,
      stop: AbortSignal,
    ) => Promise<void>,
    signal: AbortSignal,
  ): Promise<{ zip: number; date: string }>;
  /** The next bytes; null at the end. Throws what `write` throws. */
  read(zip: number): Promise<Uint8Array | null>;
  close(zip: number): Promise<void>;
}

interface OpenZip {
  parts: AsyncIterator<Uint8Array>;
  done: Promise<unknown>;
  stop: AbortController;
  timer: NodeJS.Timeout;
}

const BUFFERED_BYTES = 2 ** 18;

/** Keeps zips open until they are read or closed, or nobody has read them for `pauseMs`. */
export function createOpenZips(pauseMs: number): OpenZips {
  const zips = new Map<number, OpenZip>();
  let last = 0;

  const forget = (zip: number) => {
    const open = zips.get(zip);
    clearTimeout(open?.timer);
    zips.delete(zip);
    return open;
  };
  const close = async (zip: number, reason?: Error) => {
    const open = forget(zip);
    open?.stop.abort(reason);
    await open?.done;
  };

  return {
    async open(write, signal) {
      const stop = new AbortController();
      const abort = () => stop.abort(signal.reason);
      signal.addEventListener('abort', abort, { once: true });
      const output = new PassThrough({ highWaterMark: BUFFERED_BYTES });
      // Without a reader, nobody else hears of it.
      output.on('error', () => undefined);
      const found = Promise.withResolvers<string>();
      const written = write(async (date) => {
        found.resolve(date);
        return output;
      }, stop.signal);
      const done = written.catch((error: Error) => {
        found.reject(error);
        output.destroy(error);
      });
      try {
        const date = await found.promise;
        const zip = ++last;
        zips.set(zip, {
          ...{ done, stop, parts: output[Symbol.asyncIterator]() },
          timer: setTimeout(() => void close(zip, new Error('nobody reads the zip')), pauseMs),
        });
        return { zip, date };
      } finally {
        signal.removeEventListener('abort', abort);
      }
    },
    async read(zip) {
      const open = zips.get(zip);
      if (open === undefined) throw new Error('the zip is no longer open');
      open.timer.refresh();
      try {
        const { done, value } = await open.parts.next();
        if (!done) return value;
      } catch (error) {
        forget(zip);
        throw error;
      }
      forget(zip);
      // It ends well only if everything was written.
      await open.done;
      return null;
    },
    close: (zip) => close(zip),
  };
}
