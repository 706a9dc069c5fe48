import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { decodeReply, encodeCommand, type Reply } from './resp.ts';

/** Whether `redis-server` is installed. Tests on Redis are skipped otherwise. */
export const hasRedisServer = spawnSync('redis-server', ['--version']).status === 0;
if (!hasRedisServer) console.warn('redis-server is not installed: tests on Redis are skipped');

export interface RedisServer {
  /** Sends one command and resolves with its reply; an error reply is an Error. */
  send(command: readonly unknown[]): Promise<Reply>;
  close(): Promise<void>;
}

/** Starts a separate, real Redis in memory, on a socket in a temporary folder. */
export async function startRedisServer(): Promise<RedisServer> {
  const folder = await mkdtemp(join(tmpdir(), 'redis-'));
  const path = join(folder, 'redis.sock');
  const child = spawn(
    'redis-server',
    ['--port', '0', '--unixsocket', path, '--save', '', '--appendonly', 'no', '--dir', folder],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  await untilReady(child);
  const socket = connect(path);
  await once(socket, 'connect');
  return {
    send: sendInTurn(socket),
    async close() {
      socket.destroy();
      const exited = once(child, 'exit');
      child.kill();
      await exited;
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function untilReady(child: ChildProcess): Promise<void> {
  if (!child.stdout) throw new Error('redis-server has no output');
  for await (const line of createInterface(child.stdout)) {
    if (/ready to accept connections/i.test(line)) {
      child.stdout.resume();
      return;
    }
  }
  throw new Error('redis-server did not start');
}

/** Redis answers in the order of the commands, so the oldest waiting one gets the next reply. */
function sendInTurn(socket: Socket): RedisServer['send'] {
  const waiting: ((reply: Reply) => void)[] = [];
  let received: Buffer = Buffer.alloc(0);
  socket.on('data', (chunk: Buffer) => {
    received = Buffer.concat([received, chunk]);
    for (let next = decodeReply(received); next !== null; next = decodeReply(received)) {
      received = received.subarray(next.end);
      waiting.shift()?.(next.reply);
    }
  });
  return (command) =>
    new Promise((resolve) => {
      waiting.push(resolve);
      socket.write(encodeCommand(command));
    });
}
