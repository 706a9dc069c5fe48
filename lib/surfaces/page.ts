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
  'X-Frame-Options': 'DENY',
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Cache-Control': 'no-cache',
};

/** Headers of files whose name changes with their content. */
export const HASHED_FILE_HEADERS = { 'Cache-Control': 'public, max-age=31536000, immutable' };

/** Whether a browser opens the root address. MCP clients use it too, but do not ask for HTML. */
export function opensPage(request: Request): boolean {
  const { pathname } = new URL(request.url);
  if (pathname === PAGE_PATH) return true;
  const asksForPage = request.headers.get('accept')?.includes('text/html') ?? false;
  return pathname === '/' && ['GET', 'HEAD'].includes(request.method) && asksForPage;
}

export function isPagePath(path: string): boolean {
  return path.startsWith(`${PAGE_PATH}/`);
}

/** The page's routes in the format of the build's `config.json`: its files by name, otherwise the page itself. */
export function platformPageRoutes() {
  const caseSensitive = true;
  const headers = { Location: `${PAGE_PATH}/`, Vary: 'Accept' };
  const redirect = { status: 302, headers, caseSensitive };
  const file = (src: string, dest: string) => ({ src, dest, caseSensitive });
  return [
    { src: `^${PAGE_PATH}/.*$`, headers: PAGE_HEADERS, continue: true, caseSensitive },
    {
      src: `^${PAGE_PATH}/assets/.*$`,
      headers: HASHED_FILE_HEADERS,
      continue: true,
      caseSensitive,
    },
    { src: `^${PAGE_PATH}$`, ...redirect },
    {
      src: '^/$',
      methods: ['GET', 'HEAD'],
      has: [{ type: 'header', key: 'accept', value: '.*text/html.*' }],
      ...redirect,
    },
    file(`^${PAGE_PATH}/(assets/[^/]+)$`, `${PAGE_PATH}/$1`),
    // Paths of repositories may contain dots too, but are deeper.
    file(`^${PAGE_PATH}/([^/]+\\.(?:js|svg))$`, `${PAGE_PATH}/$1`),
    file(`^${PAGE_PATH}/.*$`, `${PAGE_PATH}/index.html`),
  ];
}
