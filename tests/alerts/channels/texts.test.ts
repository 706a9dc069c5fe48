import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { addressesAt, makeMessage, openChannel, patient } from '../../support/alert-channels.ts';
import { type ScriptedServer, startScriptedServer } from '../../support/scripted-server.ts';

// Names and errors of others in a message stay text, and no message is longer than its service takes.

let server: ScriptedServer;

beforeEach(async () => {
  server = await startScriptedServer(() => ({ status: 200, body: 'ok' }));
});
afterEach(() => server.close());

const kinds = ['slack', 'discord', 'telegram', 'ntfy', 'gotify', 'apprise', 'webhook'];

// biome-ignore lint/suspicious/noExplicitAny: the body of each service has its own shape.
async function send(kind: string, message = makeMessage()): Promise<any> {
  const channel = await openChannel(addressesAt(server)[kind] ?? '');
  await channel.send(message, patient);
  return JSON.parse(server.received.at(-1)?.body ?? '');
}

/** All texts in a body. */
function textsOf(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  return Object.values(Object(value)).flatMap(textsOf);
}

describe('foreign text', () => {
  it('calls nobody on Slack, and makes no link', async () => {
    const hostile = '<!channel> <@U012> <https://evil.example|here> & @here @channel #general';
    const { text, blocks } = await send('slack', makeMessage({ title: hostile, lines: [hostile] }));
    const harmless =
      '&lt;!channel&gt; &lt;@U012&gt; &lt;https://evil.example|here&gt; &amp; @\u200bhere @\u200bchannel #general';
    // After its semicolon the @ of <@U012> is one too.
    const expected = harmless.replace('<@', '<@\u200b').replace(';@U', ';@\u200bU');
    expect(blocks[0].text.text).toBe(`*🔴 ${expected}*`);
    expect(blocks[1].text.text).toBe(expected);
    expect(text).toContain(expected);
    expect(text).not.toMatch(/<[!@#]|<http.*evil/);
  });

  it('is no markup on Discord', async () => {
    const lines = ['# big', '- item', '12. first', '> said', '**bold** _i_ ~~s~~ ||x|| `c`'];
    const title = '@everyone <@1> [a](https://evil.example) \\';
    const { content } = await send('discord', makeMessage({ title, lines }));
    expect(content.split('\n').slice(0, -1)).toEqual([
      '🔴 **@\u200beveryone \\<@\u200b1\\> \\[a\\]\\(https://evil.example\\) \\\\**',
      '\\# big',
      '\\- item',
      '12\\. first',
      '\\> said',
      '\\*\\*bold\\*\\* \\_i\\_ \\~\\~s\\~\\~ \\|\\|x\\|\\| \\`c\\`',
    ]);
  });

  it('calls nobody on Telegram, and leaves mail addresses as they are', async () => {
    const lines = ['@somebody_else <b>x</b> ops@example.com'];
    const { text, parse_mode } = await send('telegram', makeMessage({ lines }));
    expect(text).toContain('@\u200bsomebody_else <b>x</b> ops@example.com');
    expect(parse_mode).toBeUndefined();
  });

  it.each(kinds)(
    'has no control or deceiving characters and no credentials on %s',
    async (kind) => {
      const token = `ghp_${'a1B2'.repeat(9)}`;
      const hostile = `one\r\nX-Header: two\u0007\u001b[31m \u202etxt.exe ${token}`;
      const body = await send(kind, makeMessage({ title: hostile, lines: [hostile, 'the next'] }));
      for (const text of textsOf(body)) {
        expect(text.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\u202e]/u);
        expect(text).not.toContain(token);
        expect(text).not.toMatch(/^X-Header/m);
      }
    },
  );

  it.each(kinds)('makes no link on %s of an address that is none of the web', async (kind) => {
    const body = await send(kind, makeMessage({ link: 'javascript:alert(1)' }));
    expect(JSON.stringify(body)).not.toContain('javascript');
  });

  it.each(kinds)('may be empty on %s', async (kind) => {
    const body = await send(kind, makeMessage({ lines: [] }));
    expect(textsOf(body).some((text) => text.includes('2 repositories are failing'))).toBe(true);
    for (const field of ['text', 'content', 'message', 'body']) expect(body[field]).not.toBe('');
  });
});

describe('a message with more than fits', () => {
  /** As much as escapes need most room for. */
  const long = (character: string) =>
    makeMessage({
      title: character.repeat(300),
      lines: Array.from({ length: 1_000 }, () => character.repeat(600)),
    });

  it.each(['<', '*', 'x', '日', '🙂', '@a'])('of %s keeps to the limits', async (character) => {
    const message = long(character);
    const { blocks } = await send('slack', message);
    for (const block of blocks) expect(block.text.text.length).toBeLessThanOrEqual(3_000);
    expect((await send('discord', message)).content.length).toBeLessThanOrEqual(2_000);
    expect((await send('telegram', message)).text.length).toBeLessThanOrEqual(4_096);
    const ntfy = await send('ntfy', message);
    expect(Buffer.byteLength(ntfy.message)).toBeLessThanOrEqual(4_096);
    expect(Buffer.byteLength(JSON.stringify(ntfy))).toBeLessThanOrEqual(8_192);
  });

  it.each([
    ['slack', (body: { blocks: { text: { text: string } }[] }) => body.blocks[1]?.text.text],
    ['discord', (body: { content: string }) => body.content],
    ['telegram', (body: { text: string }) => body.text],
    ['ntfy', (body: { message: string }) => body.message],
    ['gotify', (body: { message: string }) => body.message],
    ['apprise', (body: { body: string }) => body.body],
  ])('says on %s how many lines are missing', async (kind, read) => {
    const lines = Array.from({ length: 1_000 }, (_, index) => `acme/repository-${index}`);
    const text = String(read(await send(kind, makeMessage({ lines }))));
    const shown = text.match(/acme\/repository-\d+/g)?.length ?? 0;
    expect(shown).toBeGreaterThan(20);
    expect(text).toContain(`… and ${1_000 - shown} more`);
  });

  it('says so in fields of a webhook', async () => {
    const { data } = await send('webhook', long('x'));
    expect(data.lines).toHaveLength(50);
    expect(data.omitted_lines).toBe(950);
  });
});
