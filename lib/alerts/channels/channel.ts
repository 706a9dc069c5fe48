/** What is sent through a channel. */
export interface AlertMessage {
  /** Unique to the message, and the same whenever it is tried again, so that a receiver can tell a repetition. */
  id: string;
  kind: 'opened' | 'reminder' | 'resolved' | 'test';
  severity: 'info' | 'warning' | 'critical';
  /** Plain foreign text, as the lines are: each channel escapes it, and cuts it to its own limit. */
  title: string;
  lines: readonly string[];
  /** Where to read more, as an absolute http or https address. */
  link?: string;
  at: Date;
}

/** A way to reach people. */
export interface AlertChannel {
  /** Stable, unique and never a secret, such as `slack-1` or the name that it got on the dashboard. */
  readonly name: string;
  readonly kind: string;
  /** Sends one message, once. Throws ChannelError; how long it may take is up to the signal. */
  send(message: AlertMessage, signal: AbortSignal): Promise<void>;
}

interface ChannelErrorOptions {
  /** Whether it may work later. */
  retryable: boolean;
  /** How long the service asks to wait, in milliseconds. */
  retryAfterMs?: number | undefined;
  /** Whether the service may have taken the message nevertheless. */
  mayHaveArrived?: boolean;
}

/** Why a message was not sent, starting with who failed. Its message never holds the address of the channel. */
export class ChannelError extends Error {
  override readonly name = 'ChannelError';
  readonly retryable: boolean;
  readonly retryAfterMs?: number;
  /** No for a refusal or an unreachable service; yes for a fault or a time limit after the message was sent. */
  readonly mayHaveArrived: boolean;

  constructor(message: string, options: ChannelErrorOptions) {
    super(message);
    this.retryable = options.retryable;
    if (options.retryAfterMs !== undefined) this.retryAfterMs = options.retryAfterMs;
    this.mayHaveArrived = options.mayHaveArrived ?? false;
  }
}
