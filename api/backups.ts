import { createHostedBackupsApp } from '../lib/backups/hosted.ts';
import { otherRoutes } from '../lib/routes.ts';

const app = await createHostedBackupsApp(process.env, otherRoutes);

export default { fetch: (request: Request) => app.fetch(request) };
