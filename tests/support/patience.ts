import { vi } from 'vitest';

// `vi.waitFor` gives up after one second by default, which a busy machine exceeds, and the configuration of Vitest has no
// setting for it. A wait that succeeds ends at once, so a longer one costs nothing.

const PATIENCE_MS = 120_000;
const { waitFor } = vi;

vi.waitFor = (check, options) =>
  waitFor(check, typeof options === 'number' ? options : { timeout: PATIENCE_MS, ...options });
