import { mkdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { execa } from 'execa';
import { runCommand } from '../../scripts/command.ts';
import { findFreePort } from '../../scripts/free-port.ts';
import { launchChromium } from '../support/chromium.ts';

// Takes the screenshots for the documents from the demo: `npm run screenshots`. Needs Chromium.

const FOLDER = resolve(import.meta.dirname, '../../docs/images');
const DEMO = resolve(import.meta.dirname, '../../scripts/demo.ts');

const pictures = [
  { name: 'overview', path: '/app/' },
  { name: 'run', path: '/app/runs/44' },
  { name: 'repository', path: '/app/repositories/local/website' },
  { name: 'logs', path: '/app/logs' },
];

await runCommand(async () => {
  await mkdir(FOLDER, { recursive: true });
  const env = { PORT: String(await findFreePort(18_700)) };
  const demo = execa(process.execPath, [DEMO], {
    env,
    reject: false,
    stderr: 'inherit',
    buffer: false,
  });
  const browser = await launchChromium();
  try {
    const link = await loginLinkIn(demo.stdout);
    demo.stdout.resume();
    const page = await browser.newPage({
      viewport: { width: 1280, height: 860 },
      colorScheme: 'light',
      reducedMotion: 'reduce',
    });
    await page.goto(link);
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    for (const { name, path } of pictures) {
      await page.goto(new URL(path, link).href);
      await page.getByRole('heading', { level: 1 }).waitFor();
      // The log stream never ends, so the network never becomes idle there.
      await page.waitForLoadState('networkidle', { timeout: 3_000 }).catch(() => undefined);
      await page.screenshot({ path: join(FOLDER, `${name}.png`) });
      process.stdout.write(`docs/images/${name}.png\n`);
    }
  } finally {
    await browser.close();
    demo.kill('SIGINT');
    await demo;
  }
  return 0;
});

async function loginLinkIn(output: Readable): Promise<string> {
  for await (const line of createInterface(output)) {
    const link = /http\S+\/app\/login#\S+/.exec(line)?.[0];
    if (link !== undefined) return link;
  }
  throw new Error('the demo ended before it printed a link');
}
