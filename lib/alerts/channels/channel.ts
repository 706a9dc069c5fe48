/** A message to send through a channel. */
export interface AlertMessage {
  /** Unique to the message, and the same for every attempt, so that a receiver can recognize a repetition. */
  id: string;
  kind: 'opened' | 'reminder' | 'resolved' | 'test';
  severity: 'info' | 'warning' | 'critical';
  /** Untrusted plain text, like the lines: each channel escapes it, and cuts it to its own limit. */
  title: string;
  lines: readonly string[];
  /** Where to read more: an absolute http or https URL. */
  link?: string;
  at: Date;
}

/** A way to reach people. */
export interface AlertChannel {
  /** Stable, unique and never secret, such as `slack-1` or the name given in the dashboard. */
  readonly name: string;
  readonly kind: string;
  /** Sends one message, once. Throws ChannelError. The signal decides how long it may take. */
  send(message: AlertMessage, signal: AbortSignal): Promise<void>;
}

interface ChannelErrorOptions {
  /** Whether a retry may succeed. */
  retryable: boolean;
  /** How long the service asks to wait, in milliseconds. */
  retryAfterMs?: number | undefined;
  /** Whether the service may have accepted the message despite the error. */
  mayHaveArrived?: boolean;
}

/** Why a message was not sent, starting with what failed. The message never contains the channel's address. */
export class ChannelError extends Error {
  override readonly name = 'ChannelError';
  readonly retryable: boolean;
  readonly retryAfterMs?: number;
  /** False for a refusal or an unreachable service; true for a fault or a timeout after the message was sent. */
  readonly mayHaveArrived: boolean;

  constructor(message: string, options: ChannelErrorOptions) {
    super(message);
    this.retryable = options.retryable;
    if (options.retryAfterMs !== undefined) this.retryAfterMs = options.retryAfterMs;
    this.mayHaveArrived = options.mayHaveArrived ?? false;
  }
}
