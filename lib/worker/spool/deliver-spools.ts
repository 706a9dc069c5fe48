import { rm } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { type Database, isDatabaseUnavailable } from '../../database/database.ts';
import { syncFile } from '../../durable-files.ts';
import type { Log } from '../../log.ts';
import { cleanText } from '../../text/clean-text.ts';
import { type DeliveredDrills, deliverDrills } from '../drills/drill-spool.ts';
import { type DeliveredRun, deliverSpool } from './deliver-spool.ts';
import { checkSpool, DamagedSpool } from './read-spool.ts';
import { listSpools } from './spool-file.ts';

/** A line about a delivery, for the run's log. */
export interface DeliveryRemark {
  level: 'info' | 'warn' | 'error';
  text: string;
}

/** The outcome of the delivery. */
export interface Delivery {
  /** Whether the database did not answer. */
  isAway: boolean;
  remarks: DeliveryRemark[];
  /** The run that was delivered last, if it is the newest spool. */
  last: DeliveredRun | null;
}

/**
 * Delivers the spools of this DATA_DIR, the oldest first, and deletes each that is delivered. One that cannot be
 * delivered stays, and so do those after it. The caller has the lease of the machine.
 */
export async function deliverSpools(
  { db, log }: { db: Database; log: Log },
  dataFolder: string,
): Promise<Delivery> {
  const remarks: DeliveryRemark[] = [];
  let last: DeliveredRun | null = null;
  let what = 'what it contains';
  try {
    for (const path of await listSpools(dataFolder)) {
      what = basename(path);
      const { header, isTorn } = await checkSpool(path);
      if (isTorn) remarks.push({ level: 'warn', text: `dropped the torn last line of ${what}` });
      if (header !== null) {
        last = await deliverSpool(db, path, header);
        remarks.push({ level: 'info', text: describe(last) });
      }
      await rm(path);
      await syncFile(dirname(path));
    }
    what = 'a restore drill';
    remarks.push(...describeDrills(await deliverDrills(db, dataFolder)));
  } catch (error) {
    if (isDatabaseUnavailable(error)) return { isAway: true, remarks, last: null };
    const why = error instanceof Error ? error.message : String(error);
    const isExpected =
      error instanceof DamagedSpool || (error instanceof Error && 'syscall' in error);
    if (!isExpected) log.error('a spool could not be delivered', { error });
    const text = `DATA_DIR/spool: ${what} cannot be delivered and is kept, with all after it (move it away to go on): ${why}`;
    remarks.push({ level: 'error', text: cleanText(text) });
    return { isAway: false, remarks, last: null };
  }
  return { isAway: false, remarks, last };
}

function describeDrills({ delivered, damaged }: DeliveredDrills): DeliveryRemark[] {
  const drills = delivered === 1 ? '1 restore drill' : `${delivered} restore drills`;
  return [
    ...damaged.map((name) => ({
      level: 'error' as const,
      text: cleanText(`DATA_DIR/spool: ${name} cannot be delivered and is kept`),
    })),
    ...(delivered === 0
      ? []
      : [
          {
            level: 'info' as const,
            text: `delivered ${drills}, spooled while the database was away`,
          },
        ]),
  ];
}

function describe({ id, results }: DeliveredRun): string {
  const what = results === 1 ? '1 result' : `${results} results`;
  return `delivered run ${id} with ${what}, which was spooled while the database was away`;
}
