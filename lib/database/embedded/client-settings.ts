import type { SharedSession } from './shared-session.ts';

/** Settings that the server reports to clients, at startup and when they change. */
const reported = [
  'client_encoding',
  'DateStyle',
  'integer_datetimes',
  'IntervalStyle',
  'is_superuser',
  'server_encoding',
  'server_version',
  'session_authorization',
  'standard_conforming_strings',
  'TimeZone',
];

/** Command tags that may have changed a setting; DO and CALL may do so internally. */
const changingTags = /^(SET|RESET|DO|CALL)$/;
const changingCall = /\bset_config\b/i;

const changed = `
  SELECT name, setting FROM pg_settings
  WHERE source = 'session' AND name NOT LIKE 'transaction_%' AND name <> 'session_authorization'`;

/** The reported settings of a session that has changed none. */
export async function readDefaults(session: SharedSession): Promise<ReadonlyMap<string, string>> {
  const columns = reported.map((name) => `current_setting(${quoteLiteral(name)})`);
  const [row = []] = await session.ask(`SELECT ${columns.join(', ')}`);
  return new Map(reported.map((name, column) => [name, row[column] ?? '']));
}

/**
 * The settings of one client, which apply while it holds the lease. Custom ones (`app.name`) last for a
 * transaction only: Postgres does not list them.
 */
export class ClientSettings {
  readonly #session: SharedSession;
  readonly #defaults: ReadonlyMap<string, string>;
  #values: ReadonlyMap<string, string>;
  #mayHaveChanged = false;

  constructor(
    session: SharedSession,
    defaults: ReadonlyMap<string, string>,
    startup: ReadonlyMap<string, string>,
  ) {
    this.#session = session;
    this.#defaults = defaults;
    this.#values = startup;
  }

  /** The settings to report to the client when it connects. */
  report(): [name: string, value: string][] {
    return reported.map((name) => [name, this.#get(name)]);
  }

  /** Inspects an SQL text before it runs. */
  noteText(sql: string): void {
    this.#mayHaveChanged ||= changingCall.test(sql);
  }

  /** Inspects the command tags of what has run. */
  noteTags(tags: readonly string[]): void {
    this.#mayHaveChanged ||= tags.some((tag) => changingTags.test(tag));
  }

  /** Applies the client's settings. Throws FatalError when one is invalid. */
  async enter(): Promise<void> {
    const session = this.#session;
    if (session.settings !== null && areEqual(session.settings, this.#values)) return;
    session.settings = null;
    await session.ask('RESET ALL');
    const calls = [...this.#values].map(
      ([name, value]) => `set_config(${quoteLiteral(name)}, ${quoteLiteral(value)}, false)`,
    );
    if (calls.length > 0) await session.ask(`SELECT ${calls.join(', ')}`);
    session.settings = this.#values;
  }

  /** Saves the client's settings at the end of its lease. Returns the changes to report to it. */
  async save(): Promise<[name: string, value: string][]> {
    if (!this.#mayHaveChanged) return [];
    this.#mayHaveChanged = false;
    const before = this.report();
    const rows = await this.#session.ask(changed);
    this.#values = new Map(rows.map(([name, value]) => [name ?? '', value ?? '']));
    // A custom setting may still be there, so the next client starts from the defaults.
    this.#session.settings = null;
    return this.report().filter(([, value], index) => value !== before[index]?.[1]);
  }

  #get(name: string): string {
    return this.#values.get(name) ?? this.#defaults.get(name) ?? '';
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

function areEqual(one: ReadonlyMap<string, string>, other: ReadonlyMap<string, string>): boolean {
  return one.size === other.size && [...one].every(([name, value]) => other.get(name) === value);
}

/** Quotes a text as an SQL literal that is independent of `standard_conforming_strings`. */
function quoteLiteral(text: string): string {
  return `E'${text.replaceAll('\\', '\\\\').replaceAll("'", "''")}'`;
}
