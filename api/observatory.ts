import { createHostedObservatoryApp } from '../lib/observatory/observatory-function.ts';

const stopping = new AbortController();
const app = await createHostedObservatoryApp(process.env, stopping.signal);

process.once('SIGTERM', () => stopping.abort());

export default { fetch: (request: Request) => app.fetch(request) };
