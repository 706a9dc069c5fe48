import * as z from 'zod';

const time = z.iso.datetime();

/** An outage of the database, and which channels were alerted to it. */
export const outageState = z.object({
  /** When the database was first found unreachable. */
  since: time,
  /** When it was last found unreachable. */
  seen: time,
  /** When it was back; null while it is unreachable. */
  ended: time.nullable(),
  /** When the current message was made, which is sent once to each channel. */
  at: time,
  /** Channels that an earlier message about this outage has reached, or may have reached. */
  told: z.array(z.string()),
  channels: z.array(
    z.object({
      name: z.string(),
      delivered: time.nullable(),
      attempts: z.int(),
      /** How many attempts may have arrived. */
      unclear: z.int(),
      /** The earliest time of a retry; null: never. */
      nextAt: time.nullable(),
    }),
  ),
  /** When recent outages, including this one, were first alerted. Those of more than a day ago may be missing. */
  lately: z.array(time),
});

export type OutageState = z.output<typeof outageState>;

/** Remembers what was sent about an outage while the database, which holds the incidents, is unreachable. */
export interface OutageMemory {
  /** Null if there is none or it is invalid. The alert is then sent again, which is better than never. */
  read(): Promise<OutageState | null>;
  write(state: OutageState): Promise<void>;
  /** Does the work while no other process with this memory does. Does nothing if the wait takes too long. */
  exclusively(work: () => Promise<void>): Promise<void>;
}
