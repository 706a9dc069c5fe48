/** Links to the incidents on the page at `publicUrl`, which may have a path, behind a proxy. */
export function linkToIncidents(publicUrl: string): string {
  return new URL('app/incidents', publicUrl.replace(/\/*$/, '/')).href;
}
