import { createHostedBackupsApp } from '../lib/backups/hosted.ts';

const app = await createHostedBackupsApp(process.env);

export default { fetch: (request: Request) => app.fetch(request) };
