import { createHostedBackupsApp } from '../lib/backups/backups-function.ts';

const app = await createHostedBackupsApp(process.env);

export default { fetch: (request: Request) => app.fetch(request) };
