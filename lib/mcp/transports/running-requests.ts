import {
  isJSONRPCRequest,
  type JSONRPCMessage,
  type RequestId,
} from '@modelcontextprotocol/sdk/types.js';

/** Passes a message to the server that answers one POST. */
export type Deliver = (message: JSONRPCMessage) => void;

/** A running POST. */
export interface RunningPost {
  /** Records one of its messages. A cancellation of another POST's request is passed on. */
  note(message: JSONRPCMessage): void;
  /** Removes the POST once everything in it is answered. */
  leave(): void;
}

/** The streamable HTTP requests that are running in this process. */
export interface RunningRequests {
  /** `peer` identifies the client, as far as possible. */
  join(peer: string, deliver: Deliver): RunningPost;
}

/**
 * Lets clients cancel over HTTP, where the cancellation arrives in a separate POST and there are no sessions.
 * Different clients use the same request ids, so a cancellation only applies to a request of the same peer, and
 * to none if several requests have the id.
 */
export function createRunningRequests(): RunningRequests {
  const peers = new Map<string, Set<{ ids: Set<RequestId>; deliver: Deliver }>>();
  return {
    join(peer, deliver) {
      const post = { ids: new Set<RequestId>(), deliver };
      const posts = peers.get(peer) ?? new Set();
      peers.set(peer, posts.add(post));
      return {
        note(message) {
          if (isJSONRPCRequest(message)) post.ids.add(message.id);
          const id = canceledId(message);
          if (id === null) return;
          // Deferred, because in one POST a cancellation may precede its request.
          queueMicrotask(() => {
            if (post.ids.has(id)) return;
            const fitting = [...posts].filter(({ ids }) => ids.has(id));
            if (fitting.length === 1) fitting[0]?.deliver(message);
          });
        },
        leave() {
          posts.delete(post);
          if (posts.size === 0 && peers.get(peer) === posts) peers.delete(peer);
        },
      };
    },
  };
}

function canceledId(message: JSONRPCMessage): RequestId | null {
  if (!('method' in message) || message.method !== 'notifications/cancelled') return null;
  const id = message.params?.requestId;
  return typeof id === 'string' || typeof id === 'number' ? id : null;
}
