import { basePath } from './base-path.ts';
import { LogStream, type StreamNews, type TabMessage } from './log-stream.ts';

/** What a tab is told of the stream: also that it gives no sign of life, though it is open. */
export type LogNews = StreamNews | { type: 'silent' };

/** Without any sign for this long, a stream is dead. It sends one every 15 seconds. */
const MAX_SILENCE_MS = 40_000;
const LOOK_EVERY_MS = 1_000;

/** The connection of this tab to the stream. */
interface Connection {
  send(message: TabMessage): void;
  close(): void;
}

/**
 * Follows new log lines while this tab is visible. All tabs share one stream, because a browser opens at most six
 * connections to a server. Returns a function that ends it.
 */
export function followLogs(tell: (news: LogNews) => void): () => void {
  let connection: Connection | null = null;
  let signAt = 0;
  const receive = (news: StreamNews) => {
    signAt = performance.now();
    if (news.type === 'alive') connection?.send({ type: 'alive' });
    tell(news);
  };
  const show = () => {
    if (connection !== null) return;
    signAt = performance.now();
    connection = connect(receive);
    connection.send({ type: 'follow' });
  };
  const hide = () => {
    if (connection === null) return;
    connection.send({ type: 'leave' });
    connection.close();
    connection = null;
    tell({ type: 'lost' });
  };
  const onVisibility = () => (document.hidden ? hide() : show());
  const timer = setInterval(() => {
    if (connection === null || performance.now() - signAt < MAX_SILENCE_MS) return;
    signAt = performance.now();
    tell({ type: 'silent' });
    connection.send({ type: 'reopen' });
  }, LOOK_EVERY_MS);
  document.addEventListener('visibilitychange', onVisibility);
  window.addEventListener('pagehide', hide);
  window.addEventListener('pageshow', onVisibility);
  onVisibility();
  return () => {
    clearInterval(timer);
    document.removeEventListener('visibilitychange', onVisibility);
    window.removeEventListener('pagehide', hide);
    window.removeEventListener('pageshow', onVisibility);
    connection?.send({ type: 'leave' });
    connection?.close();
    connection = null;
  };
}

/** Connects to the worker that all tabs share. Browsers without such workers get a stream for each tab. */
function connect(receive: (news: StreamNews) => void): Connection {
  if (!('SharedWorker' in window)) return connectAlone(receive);
  const worker = new SharedWorker(new URL('./log-stream-worker.ts', import.meta.url), {
    type: 'module',
    name: basePath,
  });
  let alone: Connection | null = null;
  // The worker could not be loaded.
  worker.onerror = () => {
    alone ??= connectAlone(receive);
    alone.send({ type: 'follow' });
  };
  worker.port.onmessage = ({ data }: MessageEvent<StreamNews>) => receive(data);
  return {
    send: (message) => (alone ? alone.send(message) : worker.port.postMessage(message)),
    close() {
      alone?.close();
      worker.port.close();
    },
  };
}

function connectAlone(receive: (news: StreamNews) => void): Connection {
  const stream = new LogStream(basePath);
  return {
    send({ type }) {
      if (type === 'follow') stream.follow(receive);
      if (type === 'reopen') stream.reopen();
      if (type === 'leave') stream.leave(receive);
    },
    close: () => stream.leave(receive),
  };
}
