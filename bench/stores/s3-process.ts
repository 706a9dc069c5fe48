import { startS3Server } from '../../tests/support/s3-server.ts';

// A store in a separate process, so that it does not share a thread with its client. Sends its address over IPC, and
// the number of requests when asked.

const server = await startS3Server();
process.on('message', () => process.send?.({ requests: server.takeRequests().length }));
process.once('disconnect', () => void server.close().then(() => process.exit()));
process.send?.({ address: server.address('bench', '&private=yes') });
