import type { LiveConfig } from '../config/live.ts';
import type { Deps } from '../deps.ts';
import type { LiveClients } from './client.ts';
import type { LogFeed } from './feed.ts';
import type { Handshakes } from './handshakes.ts';

/** What the endpoints of the live feed are mounted with. */
export interface LiveDeps extends Deps<LiveConfig> {
  feed: LogFeed;
  clients: LiveClients;
  loadHandshakes: () => Promise<Handshakes>;
  /** How long a stream and a WebSocket last. */
  streamMs: number;
  socketMs: number;
}
