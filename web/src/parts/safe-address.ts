import { basePath, pagePath } from '../api/base-path.ts';

/**
 * The address of an untrusted link if it leads to another site over http or https, or to a place on this page.
 * Null for anything else, including the other paths of this server: opening some of them has an effect.
 */
export function safeAddress(written: string | undefined): string | null {
  if (written === undefined) return null;
  const target = written.startsWith('/app/') ? `${basePath}${written}` : written;
  if (!/^https?:\/\//i.test(target) && !target.startsWith(pagePath)) return null;
  if (!URL.canParse(target, location.origin)) return null;
  const address = new URL(target, location.origin);
  // A user name before the host is there to be mistaken for the host.
  if (address.username !== '' || address.password !== '') return null;
  if (address.origin === location.origin && !address.pathname.startsWith(pagePath)) return null;
  return address.href;
}
