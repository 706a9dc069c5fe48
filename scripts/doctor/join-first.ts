const MAX_JOINED = 5;

/** The first texts of many as one. */
export function joinFirst(texts: readonly string[]): string {
  const more = texts.length - MAX_JOINED;
  return [...texts.slice(0, MAX_JOINED), ...(more > 0 ? [`and ${more} more`] : [])].join('; ');
}
