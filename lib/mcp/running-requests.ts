import {
  isJSONRPCRequest,
  type JSONRPCMessage,
  type RequestId,
} from '@modelcontextprotocol/sdk/types.js';

/** Hands a message to the server that answers one POST. */
export type Deliver = (message: JSONRPCMessage) => void;

/** One POST among those that run. */
export interface RunningPost {
  /** Takes note of a message in it. A cancellation of a request that is not in it is handed on. */
  note(message: JSONRPCMessage): void;
  /** All that came with it is answered. */
  leave(): void;
}

/** The requests of streamable HTTP that this process answers now. */
export interface RunningRequests {
  /** `peer` is what tells one client from another, as far as anything does. */
  join(peer: string, deliver: Deliver): RunningPost;
}

/**
 * Lets a client cancel over HTTP, where the message comes in a POST of its own and there are no sessions.
 * Clients count their requests from the same number, so that a cancellation holds for a request of the
 * same peer alone, and for none when several have the number.
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
          // Later: in one POST a cancellation may stand before its request.
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
