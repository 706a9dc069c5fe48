import { randomUUID } from 'node:crypto';
import { ChannelAddressError } from '../../channels/address.ts';
import type { ChannelAddress } from '../../channels/kinds.ts';
import { parseChannelAddress } from '../../channels/parse-address.ts';
import type { AlertSendingConfig } from '../../config/alert-channels.ts';
import type { Database } from '../../database/database.ts';
import { AppError } from '../../errors.ts';
import {
  type AlertChannelRow,
  addAlertChannel,
  listAlertChannels,
  MAX_STORED_CHANNELS,
  replaceSealedAddress,
} from '../../records/alerts/alert-channels.ts';
import { createSealing, type Sealing } from '../../security/sealing.ts';

/** A channel that was added in the dashboard. */
export interface StoredChannel extends Omit<AlertChannelRow, 'sealed_address'> {
  /** Null if it cannot be used. */
  address: ChannelAddress | null;
  /** Why it cannot be used; null if it can. */
  fault: string | null;
}

interface StoreDeps {
  db: Database;
  config: AlertSendingConfig;
}

/**
 * Reads the channels of the dashboard, with names that ALERT_CHANNELS does not use. With `renews`, addresses that an
 * old key sealed are sealed with the current one.
 */
export async function readStoredChannels(
  { db, config }: StoreDeps,
  { renews = false } = {},
): Promise<StoredChannel[]> {
  const rows = await listAlertChannels(db);
  const sealing = findSealing(config);
  return Promise.all(
    rows.map(async ({ sealed_address: sealed, ...stored }) => {
      // A channel of this name may have been added to ALERT_CHANNELS later.
      const name = isConfigured(config, stored.name) ? `${stored.name} (page)` : stored.name;
      const row = { ...stored, name };
      if (sealing === null) return { ...row, address: null, fault: NO_KEY };
      const opened = sealing.unseal(sealed, row.id);
      if (opened === null) return { ...row, address: null, fault: OTHER_KEY };
      if (renews && !opened.isCurrent) {
        const to = sealing.seal(opened.text, row.id);
        await replaceSealedAddress(db, row.id, { from: sealed, to });
      }
      return { ...row, ...checkAddress(opened.text, config) };
    }),
  );
}

const NO_KEY = 'CREDENTIALS_ENCRYPTION_KEY is not set: its address cannot be read';
const OTHER_KEY = 'its address was encrypted with another CREDENTIALS_ENCRYPTION_KEY';

function checkAddress(
  text: string,
  { SMTP_TO }: AlertSendingConfig,
): Pick<StoredChannel, 'address' | 'fault'> {
  try {
    const address = parseChannelAddress(text);
    const fault = findRecipientFault(address, SMTP_TO);
    return fault === null ? { address, fault } : { address: null, fault: `its address ${fault}` };
  } catch (error) {
    if (!(error instanceof ChannelAddressError)) throw error;
    return { address: null, fault: `its address ${error.message}` };
  }
}

/** Only the operator of the server decides who may get mail. */
function findRecipientFault(address: ChannelAddress, allowed: readonly string[]): string | null {
  if (address.kind !== 'mail') return null;
  const to = address.to.toLowerCase();
  return allowed.some((one) => one.toLowerCase() === to) ? null : 'is not one of SMTP_TO';
}

interface NewChannel {
  name: string;
  address: string;
  createdBy: string;
}

/**
 * Stores a channel. Throws CREDENTIAL_STORAGE_UNAVAILABLE without CREDENTIALS_ENCRYPTION_KEY, VALIDATION_ERROR for an
 * invalid address, and CONFLICT for a name that is taken or one channel too many. No error contains the address.
 */
export async function storeChannel(
  { db, config }: StoreDeps,
  { name, address: text, createdBy }: NewChannel,
): Promise<void> {
  const sealing = findSealing(config);
  if (sealing === null) {
    const message = 'channels cannot be stored: CREDENTIALS_ENCRYPTION_KEY is not set';
    throw new AppError('CREDENTIAL_STORAGE_UNAVAILABLE', message);
  }
  const { kind, place } = parseGiven(text, config);
  if (isConfigured(config, name)) {
    throw new AppError('CONFLICT', 'ALERT_CHANNELS already has a channel of this name');
  }
  const id = randomUUID();
  const outcome = await addAlertChannel(db, {
    ...{ id, name, kind, place },
    sealed_address: sealing.seal(text, id),
    created_by: createdBy,
  });
  if (outcome === 'taken')
    throw new AppError('CONFLICT', 'there is already a channel of this name');
  if (outcome === 'full') {
    throw new AppError('CONFLICT', `there are already ${MAX_STORED_CHANNELS} channels`);
  }
}

function parseGiven(text: string, { SMTP_TO }: AlertSendingConfig): ChannelAddress {
  try {
    const address = parseChannelAddress(text);
    const fault = findRecipientFault(address, SMTP_TO);
    if (fault !== null) throw new ChannelAddressError('mail', fault);
    return address;
  } catch (error) {
    if (!(error instanceof ChannelAddressError)) throw error;
    throw new AppError('VALIDATION_ERROR', `address ${error.message}`, {
      details: [{ path: 'address', message: error.message }],
    });
  }
}

/** Whether ALERT_CHANNELS has a channel of this name, in any letter case. */
function isConfigured({ ALERT_CHANNELS }: AlertSendingConfig, name: string): boolean {
  return ALERT_CHANNELS.some((other) => other.name.toLowerCase() === name.toLowerCase());
}

function findSealing({ CREDENTIALS_ENCRYPTION_KEY: keys }: AlertSendingConfig): Sealing | null {
  return keys === undefined ? null : createSealing(keys, 'alert channel');
}
