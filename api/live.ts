import { createHostedLiveServer } from '../lib/live/live-function.ts';

const { server, close } = await createHostedLiveServer(process.env);

process.once('SIGTERM', () => void close());

export default server;
