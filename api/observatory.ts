import { createHostedObservatoryApp } from '../lib/observatory/hosted.ts';

const app = await createHostedObservatoryApp(process.env);

export default { fetch: (request: Request) => app.fetch(request) };
