import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import {
  isJSONRPCErrorResponse,
  isJSONRPCRequest,
  isJSONRPCResultResponse,
  type JSONRPCMessage,
  type RequestId,
} from '@modelcontextprotocol/sdk/types.js';
import type { Clock } from '../clock.ts';
import type { Log, LogFields } from '../log.ts';
import type { Redactor } from '../security/redaction/redactor.ts';
import { redactMessage } from './redact-message.ts';

/** A transport that redacts and logs. */
export interface GuardedTransport extends Transport {
  /** Resolves when every request that has come is answered or canceled. */
  settled(): Promise<void>;
}

export interface GuardOptions {
  redactor: Redactor;
  log: Log;
  clock: Clock;
  /** Facts for every record, such as the id of the HTTP request. */
  fields?: LogFields;
}

/** A method's name in the log. Longer ones are no methods of the protocol. */
const METHOD_LENGTH = 64;

/**
 * A transport whose outgoing messages pass redaction, and which writes one log record for each request:
 * its method, duration and outcome, never its parameters. Every transport of the server goes through it.
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
      const method = message.method.slice(0, METHOD_LENGTH);
      open.set(message.id, { method, startedAt: clock.now() });
    } else if ('method' in message && message.method === 'notifications/cancelled') {
      const id = message.params?.requestId;
      // Later, as the SDK acts on it: in one batch it also cancels a request that stands behind it.
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
