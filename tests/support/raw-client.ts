import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

/** A client that sends exactly the given bytes. */
export interface RawClient {
  socket: Socket;
  send(text: string): void;
  /** What has arrived so far. */
  received(): string;
  /** Resolves with what has arrived once it matches. */
  until(pattern: RegExp): Promise<string>;
  /** Resolves with everything when the server has ended the connection. */
  ended(): Promise<string>;
}

/** Connects to a port on this machine, or to a Unix socket. */
export async function connectRaw(where: number | string): Promise<RawClient> {
  const socket = typeof where === 'number' ? connect(where, '127.0.0.1') : connect(where);
  let text = '';
  socket.setEncoding('latin1');
  socket.on('data', (chunk) => {
    text += String(chunk);
  });
  // A cut connection may appear as a reset; what arrived before is what counts.
  socket.on('error', () => socket.destroy());
  await once(socket, 'connect');
  return {
    socket,
    send: (bytes) => {
      socket.write(bytes, 'latin1');
    },
    received: () => text,
    async until(pattern) {
      while (!pattern.test(text)) {
        if (socket.closed) throw new Error(`the connection closed after: ${text}`);
        await Promise.race([once(socket, 'data'), once(socket, 'close')]);
      }
      return text;
    },
    async ended() {
      if (!socket.closed) await once(socket, 'close');
      return text;
    },
  };
}
