import type { Clock } from '../clock.ts';
import type { WrittenAddress } from './address.ts';

/** A message to send through a channel. */
export interface AlertMessage {
  /** Unique to the message, and the same for every attempt, so that a receiver can recognize a repetition. */
  id: string;
  kind: 'opened' | 'reminder' | 'resolved' | 'summary' | 'digest' | 'test';
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

/** The variables that mail needs. */
export interface MailChannelConfig {
  RESEND_API_KEY?: string | undefined;
  RESEND_BASE_URL: string;
  SMTP_FROM?: string | undefined;
}

/** What every parsed address has. */
interface ParsedAddress {
  /** Where messages are sent; a request may name another address. */
  url: string;
  /** Whether this is the public server of a known service, whose responses may be shown. */
  isPublicService: boolean;
  /** The part that may be shown: the host, or a shortened mail address. */
  place: string;
}

/** A request that sends a message. */
export interface ChannelRequest {
  /** The name of the service, for errors. */
  service: string;
  /** Default: POST. */
  method?: 'PUT';
  /** Default: that of the address. */
  url?: string;
  headers?: Record<string, string>;
  /** Sent as JSON; a text is JSON already. */
  body: object | string;
  /** Secrets besides those of the address. */
  secrets?: readonly string[];
  /** Errors for statuses of success that are refusals. */
  refusals?: Readonly<Record<number, string>>;
  /** What the error codes (`errcode`) of a refusal mean. */
  reasons?: Readonly<Record<string, string>>;
}

/** What the requests of some kinds need. */
export interface RequestDeps {
  clock: Pick<Clock, 'now'>;
  config: MailChannelConfig;
}

/** A kind of channel: how its addresses are written, and how a message is sent to one. */
export interface ChannelDefinition<Kind extends string, Address extends ParsedAddress> {
  kind: Kind;
  /** Its name for people. */
  label: string;
  /** Schemes of its addresses in lower case, the documented one first. */
  schemes: readonly [string, ...string[]];
  /** An address, with placeholders. */
  example: string;
  /** Addresses that the service shows, and that need no `KIND+` before them. */
  recognizes?: RegExp;
  /** Throws ChannelAddressError, which never repeats any part of the address. */
  parse(written: WrittenAddress): Address & { kind: Kind };
  /** Throws ChannelError if no message can be sent. */
  request(
    address: Address,
    message: AlertMessage,
    deps: RequestDeps,
  ): ChannelRequest | Promise<ChannelRequest>;
}

/** Declares a kind of channel. */
export function defineChannel<const Kind extends string, Address extends ParsedAddress>(
  definition: ChannelDefinition<Kind, Address>,
): ChannelDefinition<Kind, Address> {
  return definition;
}
