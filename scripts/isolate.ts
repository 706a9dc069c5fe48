import { createIsolateHandler } from '../lib/surfaces/isolate.ts';

// All surfaces as one module for isolate runtimes such as Cloudflare Workers: see docs/deploy.md. Each
// surface is loaded with its first request, because some libraries generate random values when they load.

/** The runtime collects console output. */
const write = (line: string) => console.log(line);

export default createIsolateHandler({
  addressHeader: 'CF-Connecting-IP',
  surfaces: {
    async backups() {
      const { createHostedBackupsApp } = await import('../lib/backups/backups-function.ts');
      return createHostedBackupsApp(process.env, write);
    },
    async live() {
      const { createHostedLiveApp } = await import('../lib/live/live-function.ts');
      return (await createHostedLiveApp(process.env, write)).app;
    },
    async observatory() {
      const { createHostedObservatoryApp } = await import(
        '../lib/observatory/observatory-function.ts'
      );
      return createHostedObservatoryApp(process.env, null, write);
    },
    async mcp() {
      const { createHostedMcpApp } = await import('../lib/mcp/mcp-function.ts');
      return createHostedMcpApp(process.env, write, { keepsSessions: false });
    },
  },
});
