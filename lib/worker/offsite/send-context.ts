import type { Clock } from '../../clock.ts';
import type { Cipher } from '../../stores/base/age-file.ts';
import type { Naming } from '../../stores/base/layout.ts';
import type { OpenStore } from '../../stores/open-stores.ts';
import type { Ledger } from './ledger.ts';

/** What sending an archive to a store takes. */
export interface SendContext {
  store: OpenStore;
  ledger: Ledger;
  naming: Naming;
  /** Null if nothing is encrypted. */
  cipher: Cipher | null;
  archiveFolder: string;
  clock: Clock;
  signal: AbortSignal;
  /** The number of the last state of an archive that this machine has no record of. */
  lastNumber(archiveName: string): Promise<number>;
  /** Called with remarks for a person. */
  onRemark(text: string): Promise<void>;
}
