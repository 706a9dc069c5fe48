import * as z from 'zod';

const time = z.iso.datetime();

/** An outage of the database, and whom it was told. */
export const outageState = z.object({
  /** When the database was first found to be away. */
  since: time,
  /** When it was last found to be. */
  seen: time,
  /** When it was back; null while it is away. */
  ended: time.nullable(),
  /** When the message was made that is sent, once to each channel. */
  at: time,
  /** Channels that an earlier message of this outage has reached, or may have. */
  told: z.array(z.string()),
  channels: z.array(
    z.object({
      name: z.string(),
      delivered: time.nullable(),
      attempts: z.int(),
      /** How often the message may have arrived. */
      unclear: z.int(),
      /** Before this it is not tried again; null: never. */
      nextAt: time.nullable(),
    }),
  ),
  /** When outages, this one included, were first told. Earlier ones than a day ago may be missing. */
  lately: z.array(time),
});

export type OutageState = z.output<typeof outageState>;

/** Keeps what was told of an outage while the database, which has the incidents, is away. */
export interface OutageMemory {
  /** Null if there is none or it is not valid. The alert is then sent again, which is better than never. */
  read(): Promise<OutageState | null>;
  write(state: OutageState): Promise<void>;
  /** Does the work once no other process with this memory does. Nothing is done if that takes too long. */
  exclusively(work: () => Promise<void>): Promise<void>;
}
