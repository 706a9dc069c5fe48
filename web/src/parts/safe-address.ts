/**
 * Where a link that others wrote may lead: another site over http or https, or a place of this page. Null for
 * anything else, also for this server's other paths: some of them act when they are opened.
 */
export function safeAddress(written: string | undefined): string | null {
  if (written === undefined || !/^(?:https?:\/\/|\/app\/)/i.test(written)) return null;
  if (!URL.canParse(written, location.origin)) return null;
  const address = new URL(written, location.origin);
  // A name in front of the host is there to be taken for it.
  if (address.username !== '' || address.password !== '') return null;
  if (address.origin === location.origin && !address.pathname.startsWith('/app/')) return null;
  return address.href;
}
