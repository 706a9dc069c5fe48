import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';
import { EmptyResultSchema } from '@modelcontextprotocol/sdk/types.js';
import fc from 'fast-check';
import { afterEach, describe, expect, it } from 'vitest';
import type { Catalogue } from '../../lib/mcp/base/offers.ts';
import { prepareMcpServer } from '../../lib/mcp/base/server.ts';
import { guardTransport } from '../../lib/mcp/transports/guarded-transport.ts';
import type { ToolDeps } from '../../lib/tools/tool.ts';
import { createTestDeps } from '../support/deps.ts';
import { connectClient, createFixtureCatalogue } from '../support/mcp.ts';
import { createTestToolDeps, testTool } from '../support/tools.ts';

const clients: Client[] = [];
afterEach(async () => {
  for (const client of clients.splice(0)) await client.close();
});

const SECRET = 'a "quoted" secret\\of tests';
const GIT_TOKEN = 'ghp_0123456789abcdefghijABCDEFGHIJ456789';

/** A client of a server in this process, with the server's log. */
async function connect(
  catalogue: Catalogue = createFixtureCatalogue().catalogue,
  loadDeps: () => Promise<ToolDeps> = async () => createTestToolDeps({}),
) {
  const deps = createTestDeps({ environment: { JWT_SECRET: SECRET.padEnd(32, '.') } });
  const [ours, theirs] = InMemoryTransport.createLinkedPair();
  const createServer = prepareMcpServer({
    loadCatalogue: async () => catalogue,
    loadDeps,
    log: deps.log,
  });
  await createServer('test').connect(guardTransport(ours, deps));
  const client = await connectClient(theirs);
  clients.push(client);
  deps.logged.length = 0;
  return { client, deps };
}

const call = (client: Client, name: string, given: Record<string, unknown> = {}) =>
  client.callTool({ name, arguments: given });

describe('a tool call', () => {
  it('answers with structured content and the same JSON as text', async () => {
    const { client } = await connect();
    expect(await call(client, 'echo', { text: 'a\n"b"' })).toEqual({
      structuredContent: { text: 'a\n"b"' },
      content: [{ type: 'text', text: '{"text":"a\\n\\"b\\""}' }],
    });
  });

  it('answers only with the message when the tool fails', async () => {
    const { client } = await connect();
    expect(await call(client, 'refuse', { text: 'there is no such thing' })).toEqual({
      content: [{ type: 'text', text: 'there is no such thing' }],
      isError: true,
    });
  });

  it('reveals nothing of the cause when the tool throws', async () => {
    const { client, deps } = await connect();
    const answer = await call(client, 'break');
    expect(answer).toMatchObject({ isError: true, content: [{ type: 'text' }] });
    expect(JSON.stringify(answer)).not.toContain('the inside of the server');
    expect(JSON.stringify(deps.logged)).toContain('the inside of the server');
  });

  it('reveals nothing of the cause when the dependencies cannot be loaded, and the next call works', async () => {
    let loads = 0;
    const { client, deps } = await connect(undefined, async () => {
      loads += 1;
      if (loads === 1) throw new Error('the inside of the server');
      return createTestToolDeps({});
    });
    await expect(call(client, 'echo', { text: 'a' })).rejects.toMatchObject({
      code: -32603,
      message: expect.stringMatching(/the tool echo failed with an internal error$/),
    });
    expect(JSON.stringify(deps.logged)).toContain('the inside of the server');
    expect(await call(client, 'echo', { text: 'a' })).toMatchObject({
      structuredContent: { text: 'a' },
    });
    expect(loads).toBe(2);
  });

  it('is a tool error if the arguments are invalid', async () => {
    const { client } = await connect();
    expect(await call(client, 'echo', { text: 1 })).toMatchObject({ isError: true });
    expect(await call(client, 'echo', { text: 'a', more: 1 })).toMatchObject({ isError: true });
  });

  it.each(['nowhere', 'constructor', '__proto__', 'toString', ''])(
    'is a protocol error if the tool %j does not exist',
    async (name) => {
      const { client } = await connect();
      await expect(call(client, name)).rejects.toMatchObject({ code: -32602 });
    },
  );

  it('can be canceled by the client', async () => {
    const { catalogue, canceled, waiting } = createFixtureCatalogue();
    const { client, deps } = await connect(catalogue);
    const leaving = new AbortController();
    const answer = client.callTool({ name: 'wait' }, undefined, { signal: leaving.signal });
    const outcome = expect(answer).rejects.toThrow();
    await waiting;
    leaving.abort();
    await outcome;
    await client.ping();
    expect(canceled).toEqual(['wait']);
    expect(deps.logged).toContainEqual(
      expect.objectContaining({ message: 'mcp request', outcome: 'canceled' }),
    );
  });
});

describe('resources and prompts', () => {
  it('are listed without their handlers', async () => {
    const { client } = await connect();
    expect((await client.listResources()).resources[0]).toEqual({
      uri: 'fixture://text',
      name: 'fixture',
      title: 'Fixture',
      description: 'A resource of tests.',
      mimeType: 'application/json',
    });
    expect((await client.listResourceTemplates()).resourceTemplates).toEqual([]);
    expect((await client.listPrompts()).prompts).toEqual([
      { name: 'fixture', title: 'Fixture', description: 'A prompt of tests.' },
    ]);
  });

  it('can be read', async () => {
    const { client } = await connect();
    expect((await client.readResource({ uri: 'fixture://text' })).contents).toEqual([
      { uri: 'fixture://text', mimeType: 'application/json', text: '{"text":"a text","at":1}' },
    ]);
    expect(await client.getPrompt({ name: 'fixture' })).toMatchObject({
      messages: [{ role: 'user', content: { type: 'text', text: 'do something' } }],
    });
  });

  it('cause a protocol error if they do not exist', async () => {
    const { client } = await connect();
    await expect(client.readResource({ uri: 'fixture://nowhere' })).rejects.toMatchObject({
      code: -32002,
      data: { uri: 'fixture://nowhere' },
    });
    await expect(client.getPrompt({ name: 'constructor' })).rejects.toMatchObject({ code: -32602 });
  });

  it('reveal nothing of the cause when they throw', async () => {
    const { client, deps } = await connect();
    const error = await client.readResource({ uri: 'fixture://broken' }).catch((error) => error);
    expect(error).toMatchObject({ code: -32603 });
    expect(String(error)).not.toContain('the inside of the server');
    expect(JSON.stringify(deps.logged)).toContain('the inside of the server');
  });
});

describe('the log of an MCP server', () => {
  it('has one record per request and tool call, without arguments', async () => {
    const { client, deps } = await connect();
    await call(client, 'echo', { text: 'the argument' });
    await call(client, 'refuse', { text: 'the refusal' });
    await call(client, 'nowhere').catch(() => undefined);
    await client.listTools();
    expect(deps.logged).toEqual([
      expect.objectContaining({
        message: 'tool call',
        tool: 'echo',
        duration_ms: 0,
        outcome: 'ok',
      }),
      expect.objectContaining({
        message: 'mcp request',
        method: 'tools/call',
        duration_ms: 0,
        outcome: 'ok',
      }),
      expect.objectContaining({ message: 'tool call', tool: 'refuse', outcome: 'error' }),
      expect.objectContaining({ method: 'tools/call', outcome: 'tool error' }),
      expect.objectContaining({ method: 'tools/call', outcome: 'error', code: -32602 }),
      expect.objectContaining({ method: 'tools/list', outcome: 'ok' }),
    ]);
    const all = JSON.stringify(deps.logged);
    for (const text of ['the argument', 'the refusal', 'nowhere']) expect(all).not.toContain(text);
  });

  it('names an unknown method, cut to a limited length', async () => {
    const { client, deps } = await connect();
    const method = 'x'.repeat(1000);
    await expect(client.request({ method }, EmptyResultSchema)).rejects.toMatchObject({
      code: -32601,
    });
    expect(deps.logged).toMatchObject([{ method: 'x'.repeat(64), outcome: 'error', code: -32601 }]);
  });

  it('contains nothing of a message that could not be handled', async () => {
    const { client, deps } = await connect();
    const progress = { progressToken: 'the argument', progress: 1 };
    await client.notification({ method: 'notifications/progress', params: progress });
    await client.ping();
    expect(deps.logged[0]).toMatchObject({ message: 'an MCP message could not be handled' });
    expect(JSON.stringify(deps.logged)).not.toContain('the argument');
  });
});

describe('a request with invalid parameters', () => {
  it.each([
    ['tools/call', undefined],
    ['tools/call', {}],
    ['tools/call', { name: 'echo', arguments: [] }],
    ['tools/call', { name: 1 }],
    ['tools/list', { cursor: 1 }],
    ['resources/list', { cursor: 1 }],
    ['resources/templates/list', { cursor: 1 }],
    ['resources/read', {}],
    ['prompts/list', { cursor: 1 }],
    ['prompts/get', { name: {} }],
  ])('is an error of the client: %s %j', async (method, params) => {
    const { client } = await connect();
    const request = client.request({ method, ...(params && { params }) }, EmptyResultSchema);
    await expect(request).rejects.toMatchObject({ code: -32602 });
  });
});

describe('redaction of MCP messages', () => {
  const configured = SECRET.padEnd(32, '.');

  it('covers results, errors, resources, prompts and what the client sent', async () => {
    const secret = `${configured} ${GIT_TOKEN}`;
    const { catalogue } = createFixtureCatalogue();
    const { client } = await connect({
      ...catalogue,
      resources: [
        {
          uri: 'fixture://secret',
          name: 'secret',
          title: 'Secret',
          description: 'Secret',
          read: async () => ({ secret }),
        },
      ],
      prompts: [
        {
          name: 'secret',
          title: 'Secret',
          description: 'Secret',
          write: async () => [{ role: 'user', content: { type: 'text', text: secret } }],
        },
      ],
    });
    const answers = [
      await call(client, 'echo', { text: secret }),
      await call(client, 'refuse', { text: secret }),
      await call(client, secret).catch((error) => ({ message: String(error) })),
      await client.readResource({ uri: 'fixture://secret' }),
      await client.readResource({ uri: secret }).catch(({ message, data }) => ({ message, data })),
      await client.getPrompt({ name: 'secret' }),
      await client.getPrompt({ name: secret }).catch((error) => ({ message: String(error) })),
    ];
    expect(answers).toHaveLength(7);
    for (const answer of answers) {
      expect(JSON.stringify(answer)).not.toContain(JSON.stringify(configured).slice(1, -1));
      expect(JSON.stringify(answer)).not.toContain(GIT_TOKEN);
    }
    expect(JSON.stringify(answers[3])).toContain('[redacted]');
    expect(JSON.stringify(answers[5])).toContain('[redacted]');
  });

  it('keeps the text equal to the structured content, whatever a field contains', async () => {
    const { catalogue } = createFixtureCatalogue();
    let value: Record<string, unknown> = {};
    const anything = testTool('anything', () => value);
    const { client } = await connect({ ...catalogue, tools: [anything] });
    const piece = fc.oneof(
      fc.string(),
      fc.constantFrom(configured, GIT_TOKEN, '://', 'a:b@c', '\n', '"', '\\', 'Bearer abcdefgh1'),
    );
    const text = fc.array(piece, { maxLength: 6 }).map((pieces) => pieces.join(''));
    const field = fc.oneof(text, fc.array(text), fc.record({ text }), fc.integer(), fc.boolean());
    await fc.assert(
      fc.asyncProperty(fc.dictionary(fc.string(), field), async (given) => {
        value = given;
        const { structuredContent, content } = await call(client, 'anything');
        expect(content).toEqual([{ type: 'text', text: JSON.stringify(structuredContent) }]);
        const all = JSON.stringify(structuredContent);
        expect(all).not.toContain(JSON.stringify(configured).slice(1, -1));
        expect(all).not.toContain(GIT_TOKEN);
      }),
    );
  });
});
