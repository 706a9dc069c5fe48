import { type EmbeddedBackend, quoteLiteral } from './backend.ts';

/** Settings that the protocol reports to a client, at the start and when they change. */
const reported = [
  'application_name',
  'client_encoding',
  'DateStyle',
  'default_transaction_read_only',
  'integer_datetimes',
  'IntervalStyle',
  'is_superuser',
  'search_path',
  'server_encoding',
  'server_version',
  'session_authorization',
  'standard_conforming_strings',
  'TimeZone',
];

/** Command tags after which a setting may be another. A procedure may change one unseen. */
const changingTags = /^(SET|RESET|DISCARD ALL|DO|CALL)$/;
const changingCall = /\bset_config\b/i;
/** Names of customised settings (`app.user`), which Postgres lists nowhere. */
const customName =
  /\b(?:set\s+(?:session\s+|local\s+)?|set_config\s*\(\s*')([a-z_][\w$]*(?:\.[a-z_][\w$]*)+)/gi;

const resetAll = 'RESET SESSION AUTHORIZATION; RESET ALL';
const changed = `
  SELECT name, setting FROM pg_settings WHERE source = 'session' AND name NOT LIKE 'transaction_%'
  UNION ALL
  SELECT name, current_setting(name) FROM (VALUES ('session_authorization', 'postgres'), ('role', 'none'))
    AS special (name, usual) WHERE current_setting(name) NOT IN (usual, '')`;

/** The settings of the one session, passed between the clients that share it. */
export class SharedSettings {
  /** What a new client is told. */
  readonly defaults: ReadonlyMap<string, string>;
  readonly #backend: EmbeddedBackend;
  #appliedBy: ClientSettings | null = null;
  #areDefault = true;
  #sessionEpoch = 0;

  private constructor(backend: EmbeddedBackend, defaults: ReadonlyMap<string, string>) {
    this.#backend = backend;
    this.defaults = defaults;
  }

  static async read(backend: EmbeddedBackend): Promise<SharedSettings> {
    const columns = reported.map((name) => `current_setting(${quoteLiteral(name)})`);
    const [row = []] = await backend.ask(`SELECT ${columns.join(', ')}`);
    return new SharedSettings(
      backend,
      new Map(reported.map((name, column) => [name, row[column] ?? ''])),
    );
  }

  /** Makes a client's settings the ones in force. Throws FatalError when one of them is refused. */
  async enter(client: ClientSettings): Promise<void> {
    if (this.#sessionEpoch !== this.#backend.sessionEpoch) {
      this.#sessionEpoch = this.#backend.sessionEpoch;
      this.#appliedBy = null;
      this.#areDefault = true;
    }
    if (this.#appliedBy === client) return;
    this.#appliedBy = null;
    if (!this.#areDefault) await this.#backend.ask(resetAll);
    this.#areDefault = client.values.size === 0;
    const calls = [...client.values].map(
      ([name, value]) => `set_config(${quoteLiteral(name)}, ${quoteLiteral(value)}, false)`,
    );
    if (calls.length > 0) await this.#backend.ask(`SELECT ${calls.join(', ')}`);
    this.#appliedBy = client;
  }

  /** Reads what a client changed in its turn, and returns what it must be told. */
  async save(client: ClientSettings): Promise<[name: string, value: string][]> {
    const customs = [...client.customNames].map(
      (name) =>
        ` UNION ALL SELECT ${quoteLiteral(name)}, current_setting(${quoteLiteral(name)}, true)`,
    );
    const rows = await this.#backend.ask(changed + customs.join(''));
    const before = client.values;
    client.values = new Map(
      rows.flatMap(([name, value]) => (name && value != null ? [[name, value]] : [])),
    );
    this.#areDefault = client.values.size === 0;
    const valueIn = (values: ReadonlyMap<string, string>, name: string) =>
      values.get(name) ?? this.defaults.get(name) ?? '';
    return reported
      .filter((name) => valueIn(before, name) !== valueIn(client.values, name))
      .map((name) => [name, valueIn(client.values, name)]);
  }

  /** Says that a client that keeps no settings may have changed some. */
  forget(): void {
    this.#appliedBy = null;
    this.#areDefault = false;
  }
}

/** What one client has set, and whether its last statements may have changed it. */
export class ClientSettings {
  values: ReadonlyMap<string, string>;
  readonly customNames = new Set<string>();
  mayHaveChanged = false;

  constructor(values: ReadonlyMap<string, string>) {
    this.values = values;
  }

  /** Looks at an SQL text before it runs. */
  noteText(sql: string): void {
    if (!/set/i.test(sql)) return;
    this.mayHaveChanged ||= changingCall.test(sql);
    for (const [, name] of sql.matchAll(customName)) {
      if (name !== undefined && this.customNames.size < 100) this.customNames.add(name);
    }
  }

  /** Looks at what has run. */
  noteTags(tags: readonly string[]): void {
    this.mayHaveChanged ||= tags.some((tag) => changingTags.test(tag));
  }
}

/** The settings in a startup packet's parameters, with those of `options` (`-c name=value`). */
export function readStartupSettings(parameters: ReadonlyMap<string, string>): Map<string, string> {
  const settings = new Map<string, string>();
  for (const [name, value] of parameters) {
    if (name === 'options') {
      for (const [, option, text] of value.matchAll(/(?:-c\s*|--)([\w.]+)=((?:\\.|[^\s\\])*)/g)) {
        if (option && text !== undefined) settings.set(option, text.replace(/\\(.)/g, '$1'));
      }
    } else if (name === 'client_encoding') {
      if (!/^(utf-?8|unicode)$/i.test(value)) settings.set(name, value);
    } else if (!/^(user|database|replication|_pq_\..*)$/.test(name)) {
      settings.set(name, value);
    }
  }
  return settings;
}
