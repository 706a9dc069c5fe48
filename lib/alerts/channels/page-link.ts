import type { AlertSendingConfig } from '../../config/alert-channels.ts';

/** Links to the incidents on the page; undefined if PUBLIC_URL is not set. That may already end in BASE_PATH. */
export function linkToIncidents({
  PUBLIC_URL: url,
  BASE_PATH: base,
}: Pick<AlertSendingConfig, 'PUBLIC_URL' | 'BASE_PATH'>): string | undefined {
  if (url === undefined) return undefined;
  const root = url.replace(/\/*$/, '');
  const isBelow = new URL(root).pathname.endsWith(base);
  return new URL('app/incidents', `${root}${isBelow ? '' : base}/`).href;
}
