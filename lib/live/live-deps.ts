import type { LiveConfig } from '../config/live.ts';
import type { Deps } from '../http/deps.ts';
import type { LogFeed } from './feed.ts';
import type { Handshakes } from './handshakes.ts';
import type { LiveClients } from './live-client.ts';

/** The dependencies of the endpoints of the live feed. */
export interface LiveDeps extends Deps<LiveConfig> {
  feed: LogFeed;
  clients: LiveClients;
  /** The number of open log streams of each user who has any. */
  streamsOfUsers: Map<string, number>;
  loadHandshakes: () => Promise<Handshakes>;
  /** How long a stream and a WebSocket may last. */
  streamMs: number;
  socketMs: number;
}
