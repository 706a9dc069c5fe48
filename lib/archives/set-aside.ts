/**
 * The file name of a damaged archive that makes room for a new one. Its increments and manifests keep their names,
 * which are not reused.
 */
export function setAsideName(archive: string, now: number): string {
  return `${archive}.damaged-${new Date(now).toISOString().replace(/[-:]|\.\d+/g, '')}`;
}

/** The name that a file had before it was set aside; null if it was not. */
export function nameBefore(file: string): string | null {
  return /^(.+\.bundle)\.damaged-\d{8}T\d{6}Z$/.exec(file)?.[1] ?? null;
}

/**
 * The repository name by which people refer to an archive that was set aside: `owner/name@damaged-20260304T050607Z`.
 */
export function setAsideRepository(file: string): string {
  return file.replace('__', '/').replace('.bundle.', '@');
}

/** The file with that repository name; null if the name is not of this kind. `stem`: `owner__name`. */
export function setAsideFile(stem: string): string | null {
  const [, before, time] = /^(.+)@damaged-(\d{8}t\d{6}z)$/i.exec(stem) ?? [];
  return before === undefined || time === undefined
    ? null
    : `${before.toLowerCase()}.bundle.damaged-${time.toUpperCase()}`;
}
