import { cleanText } from '../../text/clean-text.ts';
import type { OutputStream } from '../display.ts';

/** What a command finds in a store, a line each. */
export interface StoreReport {
  /** Something is wrong. */
  fault(text: string): void;
  /** Something to know. */
  say(text: string): void;
  faults(): number;
}

/** Names the store in each line. Foreign text is made safe for a terminal. */
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
