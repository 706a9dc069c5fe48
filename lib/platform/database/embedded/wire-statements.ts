import { createHash } from 'node:crypto';
import type { EmbeddedBackend } from './backend.ts';
import { closeStatementMessage, cstrings, frame, readCstring } from './wire-messages.ts';
import type { AnswerReader } from './wire-readers.ts';

interface PreparedStatement {
  /** The Parse message, under the name that it has in the shared session. */
  readonly parse: Buffer;
  readonly sql: string;
  readonly epoch: number;
}

/** Postgres cuts longer names, and two could become one. */
const NAME_LIMIT = 63;

/**
 * The prepared statements of one client. In the shared session each has the client's prefix. The
 * unnamed one cannot have, as it must vanish without a Close: it is parsed again when another client's
 * took its place, and so is a named one that was dropped by another client's DEALLOCATE ALL.
 */
export class ClientStatements {
  readonly #prefix: string;
  readonly #backend: EmbeddedBackend;
  #known = new Map<string, PreparedStatement>();
  /** What the batch that is being collected does, in its order. */
  #parses: { name: string; statement: PreparedStatement }[] = [];
  #closes: (string | null)[] = [];
  #missing = new Map<string, PreparedStatement>();

  constructor(prefix: string, backend: EmbeddedBackend) {
    this.#prefix = prefix;
    this.#backend = backend;
  }

  /** The Parse message to send on, and the SQL text in it. */
  parse(body: Buffer): { message: Buffer; sql: string } {
    const name = readCstring(body);
    const { text: sql } = readCstring(body, name.next);
    const message = frame('P', rename(body, 0, name.next, this.#rename(name.text)));
    const statement = { parse: message, sql, epoch: this.#backend.statementsEpoch };
    this.#parses.push({ name: name.text, statement });
    return { message, sql };
  }

  /** The Bind message to send on, and the SQL text that it is for, where that is known. */
  bind(body: Buffer): { message: Buffer; sql: string | undefined } {
    const { next: start } = readCstring(body);
    const name = readCstring(body, start);
    const sql = this.#use(name.text)?.sql;
    return { message: frame('B', rename(body, start, name.next, this.#rename(name.text))), sql };
  }

  /** The Describe or Close message to send on. */
  describeOrClose(type: 'D' | 'C', body: Buffer): Buffer {
    const isStatement = body[0] === 0x53;
    const name = readCstring(body, 1);
    if (type === 'C') this.#closes.push(isStatement ? name.text : null);
    else if (isStatement) this.#use(name.text);
    const backendName = isStatement ? this.#rename(name.text) : name.text;
    return frame(type, rename(body, 1, name.next, backendName));
  }

  /** The Parse messages that must run before the batch that was collected. */
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

  /** Takes over what the batch did, as far as it got. */
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

  /** The Close messages of everything that the client leaves behind. */
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
    if (Buffer.byteLength(full) <= NAME_LIMIT) return full;
    return this.#prefix + createHash('sha256').update(name).digest('hex').slice(0, 40);
  }
}

/** A body with the string between two offsets replaced. */
function rename(body: Buffer, start: number, next: number, name: string): Buffer {
  return Buffer.concat([body.subarray(0, start), cstrings(name), body.subarray(next)]);
}
