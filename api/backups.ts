import { createHostedBackupsApp } from '../lib/backups/hosted.ts';

const otherRoutes = async () => (await import('../lib/routes.ts')).otherRoutes;
const app = await createHostedBackupsApp(process.env, otherRoutes);

export default { fetch: (request: Request) => app.fetch(request) };
