import { cleanText } from '../../../text/clean-text.ts';
import type { OutputStream } from '../../base/display.ts';

/** Prints what a command finds in a store, one line each. */
export interface StoreReport {
  /** Reports that something is wrong. */
  fault(text: string): void;
  /** Reports information. */
  say(text: string): void;
  faults(): number;
}

/** Prefixes each line with the store's address. Untrusted text is made safe for a terminal. */
export function createStoreReport(stdout: OutputStream, address: string): StoreReport {
  let faults = 0;
  const say = (text: string) => void stdout.write(`${address}: ${cleanText(text)}\n`);
  return {
    say,
    fault(text) {
      faults++;
      say(`fault: ${text}`);
    },
    faults: () => faults,
  };
}
