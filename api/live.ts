import { createHostedLiveApp } from '../lib/live/hosted.ts';

const app = await createHostedLiveApp(process.env);

export default { fetch: (request: Request) => app.fetch(request) };
