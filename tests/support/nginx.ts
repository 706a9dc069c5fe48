import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { findFreePort } from '../../scripts/free-port.ts';
import { temporaryFolder } from './folders.ts';

/** Whether `nginx` is installed. Tests behind a real proxy are skipped otherwise. */
export const hasNginx = spawnSync('nginx', ['-v']).status === 0;

/** A real nginx on a port of 127.0.0.1. */
export interface Nginx {
  port: number;
  close(): Promise<void>;
}

/** Starts nginx with the content of its `server` block. */
export async function startNginx(server: string): Promise<Nginx> {
  const [folder, port] = [await temporaryFolder(), await findFreePort(0)];
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    .map((name) => `${name}_temp_path ${name};`)
    .join('\n');
  await writeFile(
    join(folder.path, 'nginx.conf'),
    `daemon off; master_process off; pid nginx.pid; error_log stderr notice;
events {}
http {
  access_log off;
  ${temporary}
  server {
    listen 127.0.0.1:${port};
    ${server}
  }
}`,
  );
  const child = spawn('nginx', ['-p', folder.path, '-c', 'nginx.conf', '-e', 'stderr'], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  await untilReady(child);
  return {
    port,
    async close() {
      const exited = once(child, 'exit');
      child.kill();
      await exited;
      await folder.remove();
    },
  };
}

/** Resolves with the line that nginx writes after it listens. Throws what it wrote if it ends before. */
async function untilReady(child: ChildProcess): Promise<void> {
  if (!child.stderr) throw new Error('nginx has no stderr');
  const lines: string[] = [];
  for await (const line of createInterface(child.stderr)) {
    lines.push(line);
    if (/\[notice\].*: OS: /.test(line)) {
      child.stderr.resume();
      return;
    }
  }
  throw new Error(`nginx did not start:\n${lines.join('\n')}`);
}
