import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

/** The entry of a model as the gateway lists it. */
export interface GatewayModel {
  id: string;
  name?: string;
  context_length?: number;
  pricing?: Record<string, unknown>;
  architecture?: { input_modalities?: string[]; output_modalities?: string[] };
  /** The dimensions of what /embeddings returns. Listed only when `hidesDimensions` is false. */
  dimensions?: number;
}

/** A scripted response to one call. */
export interface ScriptedAnswer {
  status?: number;
  headers?: Record<string, string>;
  /** An object is sent as JSON, a text unchanged. */
  body?: unknown;
  /** `hang` never answers, `reset` cuts the connection. */
  instead?: 'hang' | 'reset';
}

/** One request that the gateway received. */
export interface GatewayRequest {
  method: string;
  path: string;
  /** The bearer token; null when there was none. */
  key: string | null;
  /** The parsed JSON body; null for a request without one. */
  body: Record<string, unknown> | null;
}

/** A stand-in model gateway over HTTP, with the paths that the service uses and scripted failures. */
export interface Gateway {
  /** GATEWAY_BASE_URL. */
  url: string;
  requests: GatewayRequest[];
  models: GatewayModel[];
  embeddingModels: GatewayModel[];
  /** Whether model lists leave out the dimensions. */
  hidesDimensions: boolean;
  /** The key that /auth/keys returns for any code. */
  issuedKey: string;
  /** Answers to the next calls of a path such as `/embeddings`, in order, whatever the key. */
  next: Map<string, ScriptedAnswer[]>;
  /** The status with which every call with a key is rejected. */
  refusedKeys: Map<string, number>;
  /** The response to every call while it is set. */
  always: ScriptedAnswer | null;
  /** Adds an answer for the next call of a path. */
  script(path: string, ...answers: ScriptedAnswer[]): void;
  /** The requests of one path. */
  requestsTo(path: string): GatewayRequest[];
  /** Serves an additional path, such as /chat/completions. */
  routes: Map<string, (request: GatewayRequest, response: ServerResponse) => void>;
  close(): Promise<void>;
}

const free = { prompt: '0', completion: '0' };
const paid = { prompt: '0.000001', completion: '0.000002' };

const defaultModels: GatewayModel[] = [
  { id: 'acme/chat-free', name: 'Acme Chat', context_length: 32768, pricing: free },
  { id: 'acme/chat-paid', name: 'Acme Chat Pro', context_length: 131072, pricing: paid },
  {
    id: 'acme/rerank-free',
    name: 'Acme Rerank',
    context_length: 4096,
    pricing: free,
    architecture: { input_modalities: ['text'], output_modalities: ['rerank'] },
  },
  {
    id: 'acme/rerank-paid',
    name: 'Acme Rerank Pro',
    context_length: 4096,
    pricing: paid,
    architecture: { input_modalities: ['text'], output_modalities: ['rerank'] },
  },
];

const defaultEmbeddingModels: GatewayModel[] = [
  {
    id: 'acme/embed-free',
    name: 'Acme Embed',
    context_length: 8192,
    pricing: free,
    architecture: { input_modalities: ['text'], output_modalities: ['embeddings'] },
    dimensions: 8,
  },
  {
    id: 'acme/embed-paid',
    name: 'Acme Embed Pro',
    context_length: 8192,
    pricing: paid,
    dimensions: 16,
  },
];

/** Starts a gateway on a free port of 127.0.0.1. */
export async function startGateway(): Promise<Gateway> {
  const server = createServer((request, response) => {
    receive(gateway, request, response).catch((error: unknown) => {
      response.writeHead(500).end(String(error));
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const gateway: Gateway = {
    url: `http://127.0.0.1:${port}/api/v1`,
    requests: [],
    models: structuredClone(defaultModels),
    embeddingModels: structuredClone(defaultEmbeddingModels),
    hidesDimensions: false,
    issuedKey: 'sk-or-v1-issued-key-of-a-user-00000001',
    next: new Map(),
    refusedKeys: new Map(),
    always: null,
    script(path, ...answers) {
      gateway.next.set(path, [...(gateway.next.get(path) ?? []), ...answers]);
    },
    requestsTo: (path) => gateway.requests.filter((request) => request.path === path),
    routes: new Map(),
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
  return gateway;
}

async function receive(
  gateway: Gateway,
  incoming: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const path = new URL(incoming.url ?? '/', gateway.url).pathname.replace(/^\/api\/v1/, '');
  const sent = await text(incoming);
  const request: GatewayRequest = {
    method: incoming.method ?? '',
    path,
    key: /^Bearer (.+)$/.exec(incoming.headers.authorization ?? '')?.[1] ?? null,
    body: sent === '' ? null : JSON.parse(sent),
  };
  gateway.requests.push(request);
  const scripted = gateway.always ?? gateway.next.get(path)?.shift();
  if (scripted) return answerScripted(scripted, response);
  const refused = request.key === null ? undefined : gateway.refusedKeys.get(request.key);
  if (refused !== undefined) return reply(response, refused, refusal(refused));
  const route = gateway.routes.get(path);
  if (route) return route(request, response);
  const [status, body] = serve(gateway, request);
  reply(response, status, body);
}

function answerScripted(scripted: ScriptedAnswer, response: ServerResponse): void {
  if (scripted.instead === 'hang') return;
  if (scripted.instead === 'reset') return void response.destroy();
  const status = scripted.status ?? 200;
  reply(response, status, scripted.body ?? refusal(status), scripted.headers);
}

function refusal(status: number) {
  return { error: { code: status, message: `refused with ${status} by the stand-in gateway` } };
}

function serve(gateway: Gateway, { method, path, key, body }: GatewayRequest): [number, unknown] {
  switch (`${method} ${path}`) {
    case 'GET /models':
      return [200, { data: gateway.models }];
    case 'GET /embeddings/models':
      return [200, { data: gateway.embeddingModels.map((model) => listed(gateway, model)) }];
    case 'POST /auth/keys':
      return [200, { key: gateway.issuedKey, user_id: 'user_1' }];
    case 'POST /embeddings':
      return key === null ? [401, refusal(401)] : embed(gateway, body);
    case 'POST /rerank':
      return key === null ? [401, refusal(401)] : rerank(body);
    default:
      return [404, refusal(404)];
  }
}

function listed(gateway: Gateway, { dimensions, ...model }: GatewayModel): GatewayModel {
  return gateway.hidesDimensions || dimensions === undefined ? model : { ...model, dimensions };
}

/** A vector for each text: how often each character occurs, by its code. */
function embed(gateway: Gateway, body: GatewayRequest['body']): [number, unknown] {
  const model = gateway.embeddingModels.find(({ id }) => id === body?.model);
  if (!model) return [404, refusal(404)];
  const inputs = [body?.input].flat().map(String);
  const data = inputs.map((input, index) => {
    const embedding = new Array<number>(model.dimensions ?? 8).fill(0.001);
    for (const character of input.toLowerCase()) {
      const at = (character.codePointAt(0) ?? 0) % embedding.length;
      embedding[at] = (embedding[at] ?? 0) + 1;
    }
    return { object: 'embedding', index, embedding };
  });
  return [200, { object: 'list', data, model: model.id }];
}

/** Scores a document by the share of the query's words in it, best first. */
function rerank(body: GatewayRequest['body']): [number, unknown] {
  const words = String(body?.query).toLowerCase().split(/\s+/);
  const documents = Array.isArray(body?.documents) ? body.documents.map(String) : [];
  const results = documents
    .map((document, index) => ({
      index,
      relevance_score:
        words.filter((word) => document.toLowerCase().includes(word)).length / words.length,
    }))
    .sort((a, b) => b.relevance_score - a.relevance_score)
    .slice(0, Number(body?.top_n ?? documents.length));
  return [200, { results }];
}

function reply(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): void {
  const content = typeof body === 'string' ? body : JSON.stringify(body);
  response.writeHead(status, { 'Content-Type': 'application/json', ...headers }).end(content);
}
