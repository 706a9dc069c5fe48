import { type EmbeddedBackend, quoteLiteral } from './backend.ts';

/** Settings that the server reports to clients, at startup and when they change. */
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

/** Command tags that may have changed a setting; DO and CALL may do so internally. */
const changingTags = /^(SET|RESET|DISCARD ALL|DO|CALL)$/;
const changingCall = /\bset_config\b/i;
/** Names of custom settings (`app.user`), which Postgres does not list. */
const customName =
  /\b(?:set\s+(?:session\s+|local\s+)?|set_config\s*\(\s*')([a-z_][\w$]*(?:\.[a-z_][\w$]*)+)/gi;

const resetAll = 'RESET ALL';
const changed = `
  SELECT name, setting FROM pg_settings
  WHERE source = 'session' AND name NOT LIKE 'transaction_%' AND name <> 'session_authorization'`;

/** Switches the session's settings between the clients that share it. */
export class SharedSettings {
  /** The settings reported to a new client. */
  readonly defaults: ReadonlyMap<string, string>;
  readonly #backend: EmbeddedBackend;
  /** The applied non-default settings; null when unknown. */
  #applied: ReadonlyMap<string, string> | null = new Map();
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

  /** Applies a client's settings. Throws FatalError when one is invalid. */
  async enter(client: ClientSettings): Promise<void> {
    if (this.#sessionEpoch !== this.#backend.sessionEpoch) {
      this.#sessionEpoch = this.#backend.sessionEpoch;
      this.#applied = new Map();
    }
    if (this.#applied !== null && areEqual(this.#applied, client.values)) return;
    const hasNone = this.#applied?.size === 0;
    this.#applied = null;
    if (!hasNone) await this.#backend.ask(resetAll);
    const calls = [...client.values].map(
      ([name, value]) => `set_config(${quoteLiteral(name)}, ${quoteLiteral(value)}, false)`,
    );
    if (calls.length > 0) await this.#backend.ask(`SELECT ${calls.join(', ')}`);
    this.#applied = client.values;
  }

  /** Saves a client's settings at the end of its lease. Returns the changes to report to it. */
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
    this.#applied = client.values;
    const valueIn = (values: ReadonlyMap<string, string>, name: string) =>
      values.get(name) ?? this.defaults.get(name) ?? '';
    return reported
      .filter((name) => valueIn(before, name) !== valueIn(client.values, name))
      .map((name) => [name, valueIn(client.values, name)]);
  }

  /** Call when settings may have changed without being saved. */
  forget(): void {
    this.#applied = null;
  }
}

function areEqual(one: ReadonlyMap<string, string>, other: ReadonlyMap<string, string>): boolean {
  return one.size === other.size && [...one].every(([name, value]) => other.get(name) === value);
}

/** The settings of one client. */
export class ClientSettings {
  values: ReadonlyMap<string, string>;
  readonly customNames = new Set<string>();
  mayHaveChanged = false;

  constructor(values: ReadonlyMap<string, string>) {
    this.values = values;
  }

  /** Inspects an SQL text before it runs. */
  noteText(sql: string): void {
    if (!/set/i.test(sql)) return;
    this.mayHaveChanged ||= changingCall.test(sql);
    for (const [, name] of sql.matchAll(customName)) {
      if (name !== undefined && this.customNames.size < 100) this.customNames.add(name);
    }
  }

  /** Inspects the command tags of what has run. */
  noteTags(tags: readonly string[]): void {
    this.mayHaveChanged ||= tags.some((tag) => changingTags.test(tag));
  }
}

/** Reads the settings in a startup packet, including those in `options` (`-c name=value`). */
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
