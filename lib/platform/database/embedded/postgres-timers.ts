import type { Extension } from '@electric-sql/pglite';

/** Sets one of a program's three interval timers; 0 milliseconds switches it off. */
type SetTimer = (timer: number, ms: number) => number;

/** ITIMER_REAL, ITIMER_VIRTUAL and ITIMER_PROF. */
const TIMERS = [0, 1, 2];

interface WasmOptions {
  instantiateWasm(imports: { env: { _setitimer_js?: SetTimer } }, ...more: unknown[]): unknown;
}

/**
 * The timers that the Postgres in one PGlite sets, for instance for `statement_timeout`. An armed one
 * keeps the process, and the memory of its Postgres, alive, also when a crash has ended that Postgres.
 */
export class PostgresTimers {
  #setTimer: SetTimer | null = null;

  /** To be among the extensions of the one PGlite that this is about. */
  readonly extension: Extension = {
    name: 'postgres-timers',
    setup: async (_pglite, options: WasmOptions) => {
      const { instantiateWasm } = options;
      // What the WebAssembly imports is the one way to its timers: PGlite shows them nowhere else.
      const instantiate: WasmOptions['instantiateWasm'] = (imports, ...more) => {
        const setTimer = imports.env._setitimer_js;
        if (setTimer === undefined) throw new Error('this PGlite sets its timers in another way');
        this.#setTimer = setTimer;
        return instantiateWasm(imports, ...more);
      };
      return { emscriptenOpts: { ...options, instantiateWasm: instantiate } };
    },
  };

  /** Switches all of them off. Runs nothing of Postgres. */
  disarm(): void {
    for (const timer of TIMERS) this.#setTimer?.(timer, 0);
  }
}
