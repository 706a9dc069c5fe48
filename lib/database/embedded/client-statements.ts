import { cstrings, frame, readCstring } from './messages.ts';
import type { SharedSession } from './shared-session.ts';

interface PreparedStatement {
  /** The Parse message, with its name in the shared session. */
  readonly parse: Buffer;
  readonly sql: string;
}

/**
 * The prepared statements of one client. In the shared session their names have a prefix per client. The
 * unnamed statement cannot have one, since it must disappear without a Close. A statement that the session
 * no longer has is parsed again: the unnamed one may be another client's, and a restart or another client's
 * DEALLOCATE ALL drops them all.
 */
export class ClientStatements {
  readonly #prefix: string;
  readonly #session: SharedSession;
  readonly #known = new Map<string, PreparedStatement>();
  /** The statements that the current batch parses, or uses without parsing them. */
  readonly #parsed = new Set<string>();
  readonly #used = new Map<string, PreparedStatement>();

  constructor(prefix: string, session: SharedSession) {
    this.#prefix = prefix;
    this.#session = session;
  }

  /** The Parse message to forward, and its SQL text. */
  parse(body: Buffer): { message: Buffer; sql: string } {
    const name = readCstring(body);
    const { text: sql } = readCstring(body, name.next);
    const message = frame('P', rename(body, 0, name.next, this.#rename(name.text)));
    this.#known.set(name.text, { parse: message, sql });
    this.#parsed.add(name.text);
    return { message, sql };
  }

  /** The Bind message to forward, and the SQL text of its statement, if known. */
  bind(body: Buffer): { message: Buffer; sql: string } {
    const { next: start } = readCstring(body);
    const name = readCstring(body, start);
    const sql = this.#use(name.text)?.sql ?? '';
    return { message: frame('B', rename(body, start, name.next, this.#rename(name.text))), sql };
  }

  /** The Describe or Close message to forward. */
  describeOrClose(type: 'D' | 'C', body: Buffer): Buffer {
    const name = readCstring(body, 1);
    // Portals keep their names: they end with the transaction.
    if (body.toString('latin1', 0, 1) !== 'S') return frame(type, body);
    if (type === 'D') this.#use(name.text);
    else this.#known.delete(name.text);
    return frame(type, rename(body, 1, name.next, this.#rename(name.text)));
  }

  /** Call before the current batch runs. Returns the Parse messages that must run first. */
  beginBatch(): Buffer[] {
    const { prepared } = this.#session;
    const missing = [...this.#used].filter(
      ([name]) => name === '' || !prepared.has(this.#rename(name)),
    );
    for (const name of [...this.#used.keys(), ...this.#parsed]) prepared.add(this.#rename(name));
    this.#used.clear();
    this.#parsed.clear();
    return missing.map(([, { parse }]) => parse);
  }

  /** The Close messages for all statements of a client that leaves. */
  closeAll(): Buffer[] {
    return [...this.#known.keys()]
      .filter((name) => name !== '')
      .map((name) => frame('C', cstrings(`S${this.#rename(name)}`)));
  }

  #use(name: string): PreparedStatement | undefined {
    const statement = this.#known.get(name);
    if (statement !== undefined && !this.#parsed.has(name)) this.#used.set(name, statement);
    return statement;
  }

  #rename(name: string): string {
    return name === '' ? '' : this.#prefix + name;
  }
}

/** Replaces the string between two offsets of a message body. */
function rename(body: Buffer, start: number, next: number, name: string): Buffer {
  return Buffer.concat([body.subarray(0, start), cstrings(name), body.subarray(next)]);
}
