import type { BackupsConfig } from '../platform/config/backups.ts';
import type { Deps } from '../platform/deps.ts';
import type { OpenApiDocument } from '../platform/http/openapi.ts';

/** What the endpoints of the service API are mounted with. */
export interface BackupsHandles extends Deps<BackupsConfig> {
  /** When the app was created, milliseconds since the epoch. */
  startedAt: number;
  /** The document of all surfaces. Made at the first call: a cold start does not wait for it. */
  document: () => Promise<OpenApiDocument>;
}
