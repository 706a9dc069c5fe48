import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import {
  isJSONRPCErrorResponse,
  isJSONRPCRequest,
  isJSONRPCResultResponse,
  type JSONRPCMessage,
  type RequestId,
} from '@modelcontextprotocol/sdk/types.js';
import type { Clock } from '../../clock.ts';
import type { Log, LogFields } from '../../log/log.ts';
import type { Redactor } from '../../security/redaction/redactor.ts';
import { redactMessage } from './redact-message.ts';

/** A transport with redaction and logging. */
export interface GuardedTransport extends Transport {
  /** Resolves when every received request is answered or canceled. */
  settled(): Promise<void>;
}

export interface GuardOptions {
  redactor: Redactor;
  log: Log;
  clock: Clock;
  /** Fields for every log record, such as the id of the HTTP request. */
  fields?: LogFields;
}

/** Maximum characters of a method in the log. No method of the protocol is longer. */
const MAX_METHOD_CHARS = 64;

/**
 * Wraps a transport: redacts outgoing messages and logs the method, duration and outcome of each request, but not
 * its parameters. Every transport of the server is wrapped.
 */
export function guardTransport(
  inner: Transport,
  { redactor, log, clock, fields = {} }: GuardOptions,
): GuardedTransport {
  const open = new Map<RequestId, { method: string; startedAt: number }>();
  const waiting: (() => void)[] = [];

  function record(id: RequestId, outcome: string, more: LogFields = {}): void {
    const request = open.get(id);
    if (!request) return;
    open.delete(id);
    const { method, startedAt } = request;
    log.info('mcp request', {
      method,
      duration_ms: clock.now() - startedAt,
      outcome,
      ...more,
      ...fields,
    });
    if (open.size === 0) for (const settle of waiting.splice(0)) settle();
  }

  function noteIncoming(message: JSONRPCMessage): void {
    if (isJSONRPCRequest(message)) {
      const method = message.method.slice(0, MAX_METHOD_CHARS);
      open.set(message.id, { method, startedAt: clock.now() });
    } else if ('method' in message && message.method === 'notifications/cancelled') {
      const id = message.params?.requestId;
      // Deferred like in the SDK, where it also cancels a request that follows in the same batch.
      if (typeof id === 'string' || typeof id === 'number') {
        queueMicrotask(() => record(id, 'canceled'));
      }
    }
  }

  function noteOutgoing(message: JSONRPCMessage): void {
    if (isJSONRPCErrorResponse(message)) {
      if (message.id !== undefined) record(message.id, 'error', { code: message.error.code });
    } else if (isJSONRPCResultResponse(message)) {
      record(message.id, message.result.isError === true ? 'tool error' : 'ok');
    }
  }

  const guarded: GuardedTransport = {
    get sessionId() {
      return inner.sessionId;
    },
    async start() {
      inner.onmessage = (message, extra) => {
        noteIncoming(message);
        guarded.onmessage?.(message, extra);
      };
      inner.onerror = (error) => guarded.onerror?.(error);
      inner.onclose = () => {
        for (const id of [...open.keys()]) record(id, 'canceled');
        guarded.onclose?.();
      };
      await inner.start();
    },
    async send(message, options) {
      noteOutgoing(message);
      await inner.send(redactMessage(message, redactor), options);
    },
    close: () => inner.close(),
    settled: () =>
      open.size === 0 ? Promise.resolve() : new Promise((resolve) => waiting.push(resolve)),
  };
  return guarded;
}
