import { execFile, execFileSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Whether openssl is installed. */
export const hasOpenssl = (() => {
  try {
    execFileSync('openssl', ['version']);
    return true;
  } catch {
    return false;
  }
})();

/** The files that an auditor has downloaded, and the shell command that verifies them. */
export interface Audit {
  files: Readonly<Record<string, string | Uint8Array>>;
  command: string;
}

/** Runs the command of an auditor in a folder with the given files. Whether it succeeded, and what it printed. */
export async function audit({
  files,
  command,
}: Audit): Promise<{ isValid: boolean; output: string }> {
  const folder = await mkdtemp(join(tmpdir(), 'audit-'));
  try {
    for (const [name, content] of Object.entries(files))
      await writeFile(join(folder, name), content);
    return await new Promise((resolve) => {
      execFile('bash', ['-c', command], { cwd: folder }, (error, stdout, stderr) =>
        resolve({ isValid: error === null, output: stdout + stderr }),
      );
    });
  } finally {
    await rm(folder, { recursive: true });
  }
}
