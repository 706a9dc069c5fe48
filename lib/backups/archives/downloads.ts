import { removeDeceptiveCharacters } from '../../text/hidden-text.ts';

const MAX_NAME_CHARS = 200;

/**
 * Headers of a download; `sizeBytes` is null if it is not known yet. Its content is untrusted: a browser must save it, never show it as a page of this server.
 */
export function downloadHeaders(
  name: string,
  sizeBytes: number | null,
  contentType = 'application/octet-stream',
): Record<string, string> {
  return {
    'Content-Type': contentType,
    ...(sizeBytes === null ? {} : { 'Content-Length': String(sizeBytes) }),
    'Content-Disposition': dispositionOf(name),
    'Content-Security-Policy': "default-src 'none'; sandbox",
    'X-Content-Type-Options': 'nosniff',
  };
}

/** RFC 6266: an ASCII name for old clients, and the real name in UTF-8. */
function dispositionOf(given: string): string {
  const plain = removeDeceptiveCharacters(given.toWellFormed());
  const name = [...plain].slice(-MAX_NAME_CHARS).join('') || 'file';
  const ascii = name.replace(/[^\x20-\x7e]|["%/\\]/g, '_');
  const encoded = encodeURIComponent(name).replace(
    /['()*]/g,
    (sign) => `%${sign.charCodeAt(0).toString(16)}`,
  );
  return `attachment; filename="${ascii}"; filename*=UTF-8''${encoded}`;
}
