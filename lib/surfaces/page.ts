/** The path of the page. Its routes are below. */
export const PAGE_PATH = '/app';

/** Headers of the page's files: only its own scripts run, and only this server is contacted. */
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

/** Does a browser open the server's address? MCP clients, which use it too, do not ask for HTML. */
export function opensPage(request: Request): boolean {
  const { pathname } = new URL(request.url);
  if (pathname === PAGE_PATH) return true;
  const asksForPage = request.headers.get('accept')?.includes('text/html') ?? false;
  return pathname === '/' && ['GET', 'HEAD'].includes(request.method) && asksForPage;
}

export function isPagePath(path: string): boolean {
  return path.startsWith(`${PAGE_PATH}/`);
}
