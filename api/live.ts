import { createHostedLiveServer } from '../lib/live/hosted.ts';

const { server, close } = await createHostedLiveServer(process.env);

process.once('SIGTERM', () => void close());

export default server;
