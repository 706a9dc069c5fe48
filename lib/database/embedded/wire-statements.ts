import { createHash } from 'node:crypto';
import type { EmbeddedBackend } from './backend.ts';
import { closeStatementMessage, cstrings, frame, readCstring } from './wire-messages.ts';
import type { AnswerReader } from './wire-readers.ts';

interface PreparedStatement {
  /** The Parse message, with its name in the shared session. */
  readonly parse: Buffer;
  readonly sql: string;
  readonly epoch: number;
}

/** Postgres truncates longer names, which could make them collide. */
const MAX_NAME_BYTES = 63;

/**
 * The prepared statements of one client. In the shared session their names have a prefix per client. The
 * unnamed statement cannot have one, since it must disappear without a Close: it is parsed again after
 * another client has replaced it. So is a named one that another client's DEALLOCATE ALL dropped.
 */
export class ClientStatements {
  readonly #prefix: string;
  readonly #backend: EmbeddedBackend;
  #known = new Map<string, PreparedStatement>();
  /** The Parse and Close messages of the current batch, in order. */
  #parses: { name: string; statement: PreparedStatement }[] = [];
  #closes: (string | null)[] = [];
  #missing = new Map<string, PreparedStatement>();

  constructor(prefix: string, backend: EmbeddedBackend) {
    this.#prefix = prefix;
    this.#backend = backend;
  }

  /** The Parse message to forward, and its SQL text. */
  parse(body: Buffer): { message: Buffer; sql: string } {
    const name = readCstring(body);
    const { text: sql } = readCstring(body, name.next);
    const message = frame('P', rename(body, 0, name.next, this.#rename(name.text)));
    const statement = { parse: message, sql, epoch: this.#backend.statementsEpoch };
    this.#parses.push({ name: name.text, statement });
    return { message, sql };
  }

  /** The Bind message to forward, and the SQL text of its statement, if known. */
  bind(body: Buffer): { message: Buffer; sql: string | undefined } {
    const { next: start } = readCstring(body);
    const name = readCstring(body, start);
    const sql = this.#use(name.text)?.sql;
    return { message: frame('B', rename(body, start, name.next, this.#rename(name.text))), sql };
  }

  /** The Describe or Close message to forward. */
  describeOrClose(type: 'D' | 'C', body: Buffer): Buffer {
    const isStatement = body[0] === 0x53;
    const name = readCstring(body, 1);
    if (type === 'C') this.#closes.push(isStatement ? name.text : null);
    else if (isStatement) this.#use(name.text);
    const backendName = isStatement ? this.#rename(name.text) : name.text;
    return frame(type, rename(body, 1, name.next, backendName));
  }

  /** The Parse messages that must run before the current batch. */
  takeMissing(): Buffer[] {
    const gone = [...this.#missing].filter(([name, statement]) =>
      name === ''
        ? this.#backend.unnamedOwner !== this
        : statement.epoch !== this.#backend.statementsEpoch,
    );
    this.#missing = new Map();
    const epoch = this.#backend.statementsEpoch;
    for (const [name, statement] of gone) {
      this.#known.set(name, { ...statement, epoch });
      if (name === '') this.#backend.unnamedOwner = this;
    }
    return gone.map(([, { parse }]) => parse);
  }

  /** Records what the batch has done, as far as it succeeded. */
  noteAnswer({ parsed, closed, tags }: AnswerReader): void {
    for (const { name, statement } of this.#parses.slice(0, parsed)) {
      this.#known.set(name, statement);
      if (name === '') this.#backend.unnamedOwner = this;
    }
    for (const name of this.#closes.slice(0, closed)) {
      if (name !== null) this.#known.delete(name);
    }
    if (tags.some((tag) => tag === 'DEALLOCATE ALL' || tag === 'DISCARD ALL')) this.#known.clear();
    this.#parses = [];
    this.#closes = [];
  }

  /** A simple query drops the unnamed statement. */
  dropUnnamed(): void {
    this.#known.delete('');
  }

  /** The Close messages for all statements of a client that leaves. */
  closeAll(): Buffer[] {
    const named = [...this.#known].filter(
      ([name, { epoch }]) => name !== '' && epoch === this.#backend.statementsEpoch,
    );
    this.#known.clear();
    return named.map(([name]) => closeStatementMessage(this.#rename(name)));
  }

  #use(name: string): PreparedStatement | undefined {
    const parsedInBatch = this.#parses.findLast((parse) => parse.name === name);
    if (parsedInBatch !== undefined) return parsedInBatch.statement;
    const statement = this.#known.get(name);
    if (statement !== undefined) this.#missing.set(name, statement);
    return statement;
  }

  #rename(name: string): string {
    if (name === '') return '';
    const full = this.#prefix + name;
    if (Buffer.byteLength(full) <= MAX_NAME_BYTES) return full;
    return this.#prefix + createHash('sha256').update(name).digest('hex').slice(0, 40);
  }
}

/** Replaces the string between two offsets of a message body. */
function rename(body: Buffer, start: number, next: number, name: string): Buffer {
  return Buffer.concat([body.subarray(0, start), cstrings(name), body.subarray(next)]);
}
