import { LogStream, type TabMessage } from './log-stream.ts';

// Runs once for all tabs of a browser, which together use one of its few connections to a server.

/** A tab answers each heartbeat. One that is silent for longer has crashed. */
const MAX_SILENCE_MS = 60_000;
const LOOK_EVERY_MS = 15_000;

// A worker has no document that names the path; its tabs pass it as the worker's name.
const stream = new LogStream(self.name);
/** When each following tab gave its last sign of life. */
const tabs = new Map<MessagePort, { seenAt: number; leave(): void }>();

addEventListener('connect', (event) => {
  const [port] = (event as MessageEvent).ports;
  if (port === undefined) return;
  const tell = (news: unknown) => port.postMessage(news);
  const leave = () => {
    tabs.delete(port);
    stream.leave(tell);
  };
  port.onmessage = ({ data }: MessageEvent<TabMessage>) => {
    if (data.type === 'leave') return leave();
    const isNew = !tabs.has(port);
    tabs.set(port, { seenAt: performance.now(), leave });
    // Also a tab that was taken for dead, for example while the computer slept.
    if (isNew) stream.follow(tell);
    if (data.type === 'reopen') stream.reopen();
  };
});

setInterval(() => {
  for (const { seenAt, leave } of [...tabs.values()]) {
    if (performance.now() - seenAt > MAX_SILENCE_MS) leave();
  }
}, LOOK_EVERY_MS);
