import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import type { Environment } from '../../lib/config/read.ts';

/** A mail as the service was asked to send it. */
export interface SentMail {
  from: string;
  to: string[];
  subject: string;
  html: string;
  text: string;
}

/** One request that the service received. */
export interface MailRequest {
  authorization: string | undefined;
  idempotencyKey: string | undefined;
  mail: SentMail;
}

/** A fault of the service. */
export type MailFault =
  | { status: number; body?: unknown; headers?: Record<string, string> }
  /** `hang` never answers; `lost` accepts the mail and cuts the connection before the answer. */
  | 'hang'
  | 'lost';

export interface MailService {
  /** RESEND_BASE_URL. */
  url: string;
  /** Variables that point the observatory to the service, with two allowed addresses. */
  environment: Environment;
  requests: MailRequest[];
  /** The mails that were sent: the first request of each key. */
  delivered: SentMail[];
  /** Faults of the next requests, in order; null for none. */
  faults: (MailFault | null)[];
  close(): Promise<void>;
}

const MAIL_KEY = 're_of_tests_0123456789abcdef';
export const ADDRESSES = ['Ops@example.com', 'boss@example.com'] as const;

/** A stand-in for Resend's `POST /emails`, which accepts one mail per Idempotency-Key. */
export async function startMailService(): Promise<MailService> {
  const taken = new Map<string, string>();
  const server = createServer(async (incoming, response) => {
    // `npm run doctor` asks for the domains.
    if (incoming.method !== 'POST') return reply(response, 405, refusal(405));
    const mail = (await json(incoming)) as SentMail;
    const { authorization } = incoming.headers;
    const key = incoming.headers['idempotency-key'];
    const idempotencyKey = Array.isArray(key) ? key[0] : key;
    service.requests.push({ authorization, idempotencyKey, mail });
    const fault = service.faults.shift() ?? null;
    if (fault === 'hang') return;
    if (fault !== null && fault !== 'lost') {
      return reply(response, fault.status, fault.body ?? refusal(fault.status), fault.headers);
    }
    if (incoming.url !== '/emails' || authorization !== `Bearer ${MAIL_KEY}`) {
      return reply(response, 401, refusal(401));
    }
    const content = JSON.stringify(mail);
    const before = idempotencyKey === undefined ? undefined : taken.get(idempotencyKey);
    if (before !== undefined && before !== content) return reply(response, 409, refusal(409));
    if (before === undefined) service.delivered.push(mail);
    if (idempotencyKey !== undefined) taken.set(idempotencyKey, content);
    if (fault === 'lost') return void response.destroy();
    reply(response, 200, { id: '49a3999c-0ce1-4ea6-ab68-afcd6dc2e794' });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const service: MailService = {
    url,
    environment: {
      RESEND_API_KEY: MAIL_KEY,
      RESEND_BASE_URL: url,
      SMTP_FROM: 'Backups <backups@example.com>',
      SMTP_TO: ADDRESSES.join(', '),
    },
    requests: [],
    delivered: [],
    faults: [],
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
  return service;
}

function refusal(statusCode: number) {
  return { statusCode, name: 'validation_error', message: `refused with ${statusCode}` };
}

function reply(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): void {
  response
    .writeHead(status, { 'Content-Type': 'application/json', ...headers })
    .end(typeof body === 'string' ? body : JSON.stringify(body));
}
