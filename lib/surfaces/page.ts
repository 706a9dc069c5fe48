/** Where the page is. Its own places are below. */
export const PAGE_PATH = '/app';

/** Headers of every file of the page: it runs its own scripts alone, and asks no other host. */
export const PAGE_HEADERS: Readonly<Record<string, string>> = {
  // Mantine writes its theme as a style element, and charts have style attributes.
  'Content-Security-Policy': [
    "default-src 'self'",
    "style-src 'self' 'unsafe-inline'",
    "img-src 'self' data:",
    "object-src 'none'",
    "base-uri 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'",
  ].join('; '),
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
};

/** Is it a browser that opens the server's address? Programs that speak MCP there do not ask for a page. */
export function opensPage(request: Request): boolean {
  const { pathname } = new URL(request.url);
  if (pathname === PAGE_PATH) return true;
  const asksForPage = request.headers.get('accept')?.includes('text/html') ?? false;
  return pathname === '/' && ['GET', 'HEAD'].includes(request.method) && asksForPage;
}

export function isPagePath(path: string): boolean {
  return path.startsWith(`${PAGE_PATH}/`);
}
