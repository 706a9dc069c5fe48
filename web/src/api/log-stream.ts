/** A log line as it is streamed. */
interface StreamedLog {
  id: number;
  level: string;
  message: string;
  repository: string;
  timestamp: string;
}

/**
 * What a follower of the stream is told. Between `live` and the next `lost` it gets every line that is written; lines
 * from before `live` it has to read.
 */
export type StreamNews =
  | { type: 'connecting' }
  | { type: 'live' }
  | { type: 'lost' }
  | { type: 'alive' }
  | { type: 'logs'; logs: readonly StreamedLog[] };

/** What a tab tells the worker. */
export type TabMessage =
  | { type: 'follow' }
  | { type: 'leave' }
  | { type: 'alive' }
  | { type: 'reopen' };

type Tell = (news: StreamNews) => void;

const RETRY_MS = 3_000;
/** Lines that arrive together are passed on together. */
const GATHER_MS = 50;
/** A stream that has just been opened is not opened again. */
const MIN_OPEN_MS = 10_000;

/** One stream of new log lines for any number of followers. It is open while there are any. */
export class LogStream {
  readonly #followers = new Set<Tell>();
  readonly #basePath: string;
  #source: EventSource | null = null;
  #state: 'connecting' | 'live' | 'lost' = 'connecting';
  #openedAt = 0;
  #lastId = 0;
  #retry: ReturnType<typeof setTimeout> | undefined;
  #gathered: StreamedLog[] = [];

  /** `basePath` precedes the paths of the server. */
  constructor(basePath: string) {
    this.#basePath = basePath;
  }

  follow(tell: Tell): void {
    this.#followers.add(tell);
    if (this.#source === null) this.#open();
    else tell({ type: this.#state });
  }

  leave(tell: Tell): void {
    this.#followers.delete(tell);
    if (this.#followers.size === 0) this.#close();
  }

  /** Opens the stream again, because it shows no sign of life. */
  reopen(): void {
    if (this.#followers.size === 0 || performance.now() - this.#openedAt < MIN_OPEN_MS) return;
    this.#close();
    this.#open();
  }

  #open(): void {
    this.#openedAt = performance.now();
    this.#setState('connecting');
    // Rows that are committed late, below the last id, come too.
    const after = this.#lastId === 0 ? '' : `?after_id=${this.#lastId}`;
    const source = new EventSource(`${this.#basePath}/api/logs/stream${after}`);
    this.#source = source;
    source.onopen = () => this.#setState('live');
    source.onerror = () => {
      this.#setState('lost');
      // The browser reconnects by itself, after the last line it received, unless the server refused the stream.
      if (source.readyState !== EventSource.CLOSED) return;
      this.#retry = setTimeout(() => this.#open(), RETRY_MS);
    };
    source.addEventListener('heartbeat', () => this.#tell({ type: 'alive' }));
    source.addEventListener('log', ({ data }) => {
      if (this.#gathered.length === 0) setTimeout(() => this.#passOn(), GATHER_MS);
      const log = JSON.parse(data) as StreamedLog;
      this.#lastId = Math.max(this.#lastId, log.id);
      this.#gathered.push(log);
    });
  }

  #close(): void {
    clearTimeout(this.#retry);
    this.#source?.close();
    this.#source = null;
    this.#gathered = [];
  }

  #passOn(): void {
    const logs = this.#gathered;
    this.#gathered = [];
    if (logs.length > 0) this.#tell({ type: 'logs', logs });
  }

  #setState(type: 'connecting' | 'live' | 'lost'): void {
    // Lines that arrived before belong to the state before.
    this.#passOn();
    this.#state = type;
    this.#tell({ type });
  }

  #tell(news: StreamNews): void {
    for (const tell of this.#followers) tell(news);
  }
}
