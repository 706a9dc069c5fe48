/** The incidents of the page at `publicUrl`, which may be below a path of a proxy. */
export function linkToIncidents(publicUrl: string): string {
  return new URL('app/incidents', publicUrl.replace(/\/*$/, '/')).href;
}
