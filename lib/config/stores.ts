import * as z from 'zod';
import { parseStoreAddress, StoreAddressError, storeId } from './stores/store-address.ts';
import { list, secret, wholeNumber } from './values.ts';

/** Storage away from this machine. */
export const storeVariables = z.object({
  BACKUP_STORES: list
    .transform((texts, context) => {
      try {
        const stores = texts.map(parseStoreAddress);
        if (new Set(stores.map(storeId)).size === stores.length) return stores;
        context.addIssue('must not list a store twice');
      } catch (error) {
        if (!(error instanceof StoreAddressError)) throw error;
        context.addIssue(error.message);
      }
      return z.NEVER;
    })
    .prefault('')
    .describe(
      'where archives are stored besides this machine, separated by commas: `s3://bucket/prefix?endpoint=…&region=…&path-style=yes&profile=…`, `file:///mnt/nas`, `git+https://host/owner/name.git`; see docs/off-site.md',
    ),
  BACKUP_STORES_NEEDED: wholeNumber(1, 100)
    .optional()
    .describe(
      'how many of these stores must have a version before its repository counts as backed up; default all',
    ),
  BACKUP_STORES_MIB_PER_SECOND: wholeNumber(1, 100_000)
    .optional()
    .describe(
      'maximum upload rate to buckets and folders, in MiB per second, but not of pushes to git repositories; default no limit',
    ),
  BACKUP_AGE_RECIPIENTS: list
    .refine((recipients) => recipients.every((one) => /^age1[0-9a-z]{50,4000}$/.test(one)), {
      error: 'must be age recipients (age1…), separated by commas',
    })
    .prefault('')
    .describe(
      'age recipients whose identities can decrypt stored archives, separated by commas; unset: nothing is encrypted',
    ),
  BACKUP_NAMES_KEY: secret
    .optional()
    .describe(
      'a secret that replaces names in encrypted stores, at least 32 characters; needed with BACKUP_AGE_RECIPIENTS',
    ),
});
