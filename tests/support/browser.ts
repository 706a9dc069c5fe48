import { request } from 'node:http';
import { text } from 'node:stream/consumers';

/** A page as shown by a browser. */
export interface Shown {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  text: string;
}

/** Requests a page from a loopback server like a browser; `host` is the name in the address bar. */
export async function visit(
  url: string,
  { host, method = 'GET' }: VisitOptions = {},
): Promise<Shown> {
  const { hostname, port, pathname, search } = new URL(url);
  return new Promise((resolve, reject) => {
    const sent = request(
      {
        hostname,
        port,
        method,
        path: `${pathname}${search}`,
        agent: false,
        headers: host === undefined ? {} : { host },
      },
      (response) => {
        text(response).then(
          (body) =>
            resolve({ status: response.statusCode ?? 0, headers: response.headers, text: body }),
          reject,
        );
      },
    );
    sent.once('error', reject).end();
  });
}

export interface VisitOptions {
  host?: string;
  method?: string;
}
