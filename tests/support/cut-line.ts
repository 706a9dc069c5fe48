import { once } from 'node:events';
import { createServer, request as forward } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A connection to a bucket that cuts each download of an object after some bytes. */
export interface CutLine {
  /** The bytes after which a body is cut; null for none. */
  cutAfter: number | null;
  /** Called when a body is cut. */
  onCut(): void;
  /** Downloads of objects: the path, the first byte, and how many bytes arrived. */
  downloads: { key: string; from: number; bytes: number }[];
  /** The address of the store through this connection. */
  address: string;
  close(): Promise<void>;
}

/** Starts a connection to the bucket of an address. It cuts nothing yet. */
export async function startCutLine(address: string): Promise<CutLine> {
  const target = new URL(new URL(address).searchParams.get('endpoint') ?? '');
  const server = createServer((request, response) => {
    const { url = '', method, headers } = request;
    const onward = forward(
      { host: target.hostname, port: target.port, path: url, method, headers },
      (answer) => {
        response.writeHead(answer.statusCode ?? 500, answer.headers);
        const from = Number(/^bytes=(\d+)-/.exec(`${headers.range ?? ''}`)?.[1] ?? 0);
        const isObject = url.includes('/objects/');
        const download = { key: decodeURIComponent(url.split('?')[0] ?? ''), from, bytes: 0 };
        if (isObject) line.downloads.push(download);
        answer.on('data', (chunk: Buffer) => {
          if (response.destroyed) return;
          const left = (line.cutAfter ?? Infinity) - download.bytes;
          const part = isObject ? chunk.subarray(0, left) : chunk;
          download.bytes += part.length;
          response.write(part, () => {
            if (part.length === chunk.length || response.destroyed) return;
            line.onCut();
            response.destroy();
          });
        });
        answer.once('end', () => response.end());
      },
    );
    request.pipe(onward);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const line: CutLine = {
    cutAfter: null,
    onCut: () => undefined,
    downloads: [],
    address: address.replace(target.origin, `http://127.0.0.1:${port}`),
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
  return line;
}
