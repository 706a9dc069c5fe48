import { startS3Server } from '../../tests/support/s3-server.ts';

// A store in a process of its own, so that it does not share a thread with its client. Tells its address by IPC,
// and the number of requests when it is asked.

const server = await startS3Server();
process.on('message', () => process.send?.({ requests: server.takeRequests().length }));
process.once('disconnect', () => void server.close().then(() => process.exit()));
process.send?.({ address: server.address('bench', '&private=yes') });
