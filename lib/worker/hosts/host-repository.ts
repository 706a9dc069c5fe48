import * as z from 'zod';
import { isNamePart } from '../../archives/base/archive-name.ts';
import type { SourceUse } from '../base/source.ts';

/** A repository as the git host's API describes it. */
export const hostRepository = z.object({
  full_name: z.string(),
  private: z.boolean(),
  /** `public`, `private` or `internal`; old hosts omit it. */
  visibility: z.string().optional(),
  archived: z.boolean().default(false),
  fork: z.boolean().default(false),
  /** In KiB. It lags behind, and some hosts omit it. */
  size: z
    .number()
    .min(0)
    .max(Number.MAX_SAFE_INTEGER / 1_024)
    .optional()
    .catch(undefined),
  has_wiki: z.boolean().optional().catch(undefined),
  has_issues: z.boolean().optional().catch(undefined),
  has_discussions: z.boolean().optional().catch(undefined),
  /** Includes pull requests. */
  open_issues_count: z.int().min(0).optional().catch(undefined),
  /** Disabled by the host. */
  disabled: z.boolean().default(false),
});

export type HostRepository = z.output<typeof hostRepository>;

/** A listed repository, and the use of the token that listed it. */
export interface ListedRepository extends HostRepository {
  use: SourceUse;
}

const owner = /^[A-Za-z\d][A-Za-z\d_-]*$/;
const name = /^[\w.-]+$/;

/**
 * Whether it is a valid `owner/name`. It becomes a file name and part of a URL, and comes from an untrusted
 * host: it must not traverse paths or look like an option.
 */
export function isSafeFullName(fullName: string): boolean {
  const [first = '', second = '', ...rest] = fullName.split('/');
  const isName = name.test(second) && !['.', '..', '.git'].includes(second);
  const isShort = isNamePart(first) && isNamePart(second);
  return rest.length === 0 && owner.test(first) && isName && isShort;
}
