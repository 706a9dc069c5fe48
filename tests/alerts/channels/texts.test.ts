import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { AlertMessage } from '../../../lib/channels/channel.ts';
import { channelKinds } from '../../../lib/channels/kinds.ts';
import {
  addressesAt,
  leadTo,
  makeMessage,
  openChannel,
  patient,
  SECRETS,
} from '../../support/alert-channels.ts';
import { type ScriptedServer, startScriptedServer } from '../../support/scripted-server.ts';

// Untrusted names and errors in a message stay text, and no message is longer than its service accepts.

let server: ScriptedServer;

beforeEach(async () => {
  server = await startScriptedServer(() => ({ status: 200, body: 'ok' }));
});
afterEach(() => server.close());

const kinds = channelKinds.map(({ kind }) => kind).filter((kind) => kind !== 'mail');

// biome-ignore lint/suspicious/noExplicitAny: the body of each service has its own shape.
async function send(kind: string, message = makeMessage()): Promise<any> {
  const channel = await openChannel(addressesAt(server)[kind] ?? '');
  await channel.send(message, patient);
  return JSON.parse(server.received.at(-1)?.body ?? '');
}

// biome-ignore lint/suspicious/noExplicitAny: the body of each service has its own shape.
async function sendToSlack(message: AlertMessage): Promise<any> {
  const address = `slack://T000000/B000000/${SECRETS[0]}`;
  const channel = await openChannel(address, { fetch: leadTo(server) });
  await channel.send(message, patient);
  return JSON.parse(server.received.at(-1)?.body ?? '');
}

/** All texts in a body. */
function textsOf(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  return Object.values(Object(value)).flatMap(textsOf);
}

describe('untrusted text', () => {
  it('is shown on Slack as it was written, and mentions nobody', async () => {
    const hostile =
      '<!channel> <@U012> <https://evil.example|here> & @here *b* _i_ ~s~ `c` :fire: &gt; said';
    const { text, blocks } = await sendToSlack(makeMessage({ title: hostile, lines: [hostile] }));
    const escaped =
      '&lt;!channel&gt; &lt;@U012&gt; &lt;https://evil.example|here&gt; &amp; @here *b* _i_ ~s~ `c` :fire: &amp;gt; said';
    const plain = { type: 'plain_text', emoji: false };
    expect(blocks.slice(0, 2)).toEqual([
      { type: 'header', text: { ...plain, text: `🔴 ${escaped}` } },
      { type: 'section', text: { ...plain, text: escaped } },
    ]);
    expect(text).toContain(escaped);
  });

  it('contains no markup, mention or link in Matrix, and fits into an event', async () => {
    const hostile =
      '<b onclick="x">@room</b> @ada:example.com https://matrix.to/#/@ada:example.com';
    const { body, formatted_body } = await send(
      'matrix',
      makeMessage({ title: hostile, lines: [hostile] }),
    );
    expect(formatted_body.match(/<[^>]*>/g)).toEqual([
      ...['<strong>', '</strong>', '<br>', '<br>'],
      ...['<a href="https://backups.example.com/app/incidents/7?a=1&amp;b=2">', '</a>'],
    ]);
    for (const text of [body, formatted_body.replace(/<a .*/, '')]) {
      expect(text).not.toMatch(/@(?:room|ada)/);
      expect(text).not.toContain('https://matrix.to');
    }
    for (const mark of ['"', '\\', '&', '\u{1f525}', '@a']) {
      const lines = Array.from({ length: 500 }, () => mark.repeat(400));
      await send('matrix', makeMessage({ title: mark.repeat(200), lines }));
      expect(Buffer.byteLength(server.received.at(-1)?.body ?? '')).toBeLessThan(60_000);
    }
  });

  it('contains no markup, mention, emoji or link for a Slack-compatible program', async () => {
    const lines = [
      '<!channel> <@U012> @here .@all x-@all _@here ada@example.com',
      '*b* __b__ ~~s~~ `c` ```d``` [a](https://evil.example/a_b) www.evil.example :fire:',
      ...['# big', '- item', '1. first', '=== ', '--- '],
    ];
    const { text } = await send('slack', makeMessage({ title: '*b* @all', lines }));
    expect(text.split('\n').slice(0, -1)).toEqual([
      '**🔴 \\*b\\* @\u200ball**',
      '&lt;!channel&gt; &lt;@\u200bU012&gt; @\u200bhere .@\u200ball x-@\u200ball \\_@\u200bhere ada@example.com',
      '\\*b\\* \\_\\_b\\_\\_ \\~\\~s\\~\\~ \\`c\\` \\`\\`\\`d\\`\\`\\` \\[a\\]\\(https:\u200b//evil.example/a\\_b\\) www\u200b.evil.example :\u200bfire:',
      ...['\\# big', '\\- item', '1\\. first', '\u200b===', '\\---'],
    ]);
  });

  it('contains no markup and no link on Discord', async () => {
    const lines = [
      ...['# big', '- item', '12. first', '> said', '**bold** _i_ ~~s~~ ||x|| `c`'],
      'see https://evil.example/a_b',
    ];
    const title = '@everyone <@1> [a](https://evil.example) \\';
    const { content } = await send('discord', makeMessage({ title, lines }));
    expect(content.split('\n').slice(0, -1)).toEqual([
      '🔴 **@\u200beveryone \\<@\u200b1\\> \\[a\\]\\(https:\u200b//evil.example\\) \\\\**',
      '\\# big',
      '\\- item',
      '12\\. first',
      '\\> said',
      '\\*\\*bold\\*\\* \\_i\\_ \\~\\~s\\~\\~ \\|\\|x\\|\\| \\`c\\`',
      'see https:\u200b//evil.example/a\\_b',
    ]);
  });

  it('mentions nobody through an Apprise API, whose services may treat it as markup', async () => {
    const { title, body } = await send(
      'apprise',
      makeMessage({ title: '@everyone ada@example.com', lines: ['<@&123> <@U012> @here'] }),
    );
    expect(title).toBe('@\u200beveryone ada@example.com');
    expect(body).toContain('<@\u200b&123> <@\u200bU012> @\u200bhere');
  });

  it('is a code block on Telegram, in which Telegram finds no links, names or commands', async () => {
    const lines = ['🙂 @somebody_else <b>x</b> /start', 'README.md https://evil.example #tag'];
    const title = '@all 🙂 https://evil.example';
    const { text, entities, parse_mode } = await send('telegram', makeMessage({ title, lines }));
    expect(entities).toHaveLength(1);
    const [{ type, offset, length }] = entities;
    expect(type).toBe('pre');
    expect(text.slice(offset, offset + length)).toBe(lines.join('\n'));
    expect(text.slice(0, offset)).toBe('🔴 @\u200ball 🙂 https:\u200b//evil.example\n');
    expect(parse_mode).toBeUndefined();
  });

  it.each(kinds)(
    'has no control characters, deceptive characters or credentials on %s',
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

  it.each(kinds)('does not become a link on %s if it is not a web address', async (kind) => {
    const body = await send(kind, makeMessage({ link: 'javascript:alert(1)' }));
    expect(JSON.stringify(body)).not.toContain('javascript');
  });

  it.each(kinds)('may be empty on %s', async (kind) => {
    const body = await send(kind, makeMessage({ lines: [] }));
    expect(textsOf(body).some((text) => text.includes('2 repositories are failing'))).toBe(true);
    for (const field of ['text', 'content', 'message', 'body']) expect(body[field]).not.toBe('');
  });
});

describe('a message that is too long', () => {
  /** The characters of which escapes take the most room. */
  const long = (character: string) =>
    makeMessage({
      title: character.repeat(300),
      lines: Array.from({ length: 1_000 }, () => character.repeat(600)),
    });

  it.each(['<', '*', 'x', '日', '🙂', '@a'])(
    'stays within the limits if it consists of %s',
    async (character) => {
      const message = long(character);
      const { blocks } = await send('slack', message);
      for (const { type, text } of blocks) {
        expect(text.text.length).toBeLessThanOrEqual(type === 'header' ? 150 : 3_000);
      }
      expect((await send('discord', message)).content.length).toBeLessThanOrEqual(2_000);
      expect((await send('telegram', message)).text.length).toBeLessThanOrEqual(4_096);
      const ntfy = await send('ntfy', message);
      expect(Buffer.byteLength(ntfy.message)).toBeLessThanOrEqual(4_096);
      expect(Buffer.byteLength(JSON.stringify(ntfy))).toBeLessThanOrEqual(8_192);
    },
  );

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

  it('reports the omitted lines in fields of a webhook', async () => {
    const { data } = await send('webhook', long('x'));
    expect(data.lines).toHaveLength(50);
    expect(data.omitted_lines).toBe(950);
  });
});
