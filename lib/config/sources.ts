import { homedir } from 'node:os';
import { join } from 'node:path';
import * as z from 'zod';
import { AddressError, canonicalAddress, parseSourceAddress } from '../text/source-address.ts';
import { list } from './values.ts';

/** A source as it is configured: a repository, or a folder that holds some. */
export interface ConfiguredSource {
  /** An absolute path or a URL without credentials. */
  address: string;
  /** The same text for all spellings of an address. */
  key: string;
  kind: 'folder' | 'address';
}

/** Reads the address of a source. A relative path is relative to `folder`, and `~` is the home. Throws AddressError. */
export function readSource(text: string, folder: string): ConfiguredSource {
  const given = /^~(?:[\\/]|$)/.test(text) ? join(homedir(), text.slice(1)) : text;
  const { location, isLocal } = parseSourceAddress(given, folder);
  return {
    address: location,
    key: canonicalAddress(location),
    kind: isLocal ? 'folder' : 'address',
  };
}

/** What is backed up. */
export const sourceVariables = z.object({
  BACKUP_SOURCES: list
    .transform((texts, context) => {
      const found = new Map<string, ConfiguredSource>();
      for (const text of texts) {
        try {
          const source = readSource(text, process.cwd());
          if (!found.has(source.key)) found.set(source.key, source);
        } catch (error) {
          if (!(error instanceof AddressError)) throw error;
          context.addIssue(`must list addresses and folders, of which one ${error.message}`);
        }
      }
      return [...found.values()];
    })
    .default([])
    .describe(
      'addresses and folders that are backed up, separated by commas, together with those of the page and what a login discovers; overridden by `--source`',
    ),
});
