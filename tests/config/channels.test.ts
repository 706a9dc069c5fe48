import { describe, expect, it } from 'vitest';
import { channelVariables } from '../../lib/config/alert-channels.ts';
import { readConfig } from '../../lib/config/read.ts';
import { configuredSecrets } from '../../lib/config/secrets.ts';

const read = (ALERT_CHANNELS: string) =>
  readConfig(channelVariables, { ALERT_CHANNELS }).ALERT_CHANNELS;

const SLACK = 'slack://T0000000/B0000000/hunter2hunter2hunter2hun';
const HOOK = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';

describe('ALERT_CHANNELS', () => {
  it('is empty by default', () => {
    expect(read('')).toEqual([]);
  });

  it('accepts channels separated by spaces, lines and commas, with given names or names by kind', () => {
    const channels = read(
      `${SLACK}, mailto:ops@example.com\n\tntfy://topic-one ops=ntfy://topic-two,,Boss=mailto:boss@example.com ntfy://topic-3`,
    );
    expect(channels.map(({ name, kind }) => [name, kind])).toEqual([
      ['slack-1', 'slack'],
      ['mail-1', 'mail'],
      ['ntfy-1', 'ntfy'],
      ['ops', 'ntfy'],
      ['Boss', 'mail'],
      ['ntfy-3', 'ntfy'],
    ]);
  });

  it.each([
    ['mailto:ops@example.com', { kind: 'mail', to: 'ops@example.com', place: 'o…@example.com' }],
    [SLACK, { url: 'https://hooks.slack.com/services/T0000000/B0000000/hunter2hunter2hunter2hun' }],
    [
      'slack+https://chat.example.com/hooks/abc',
      { url: 'https://chat.example.com/hooks/abc', isPublicService: false },
    ],
    [
      'discord://hunter2hunter2hunter2@1234567',
      { url: 'https://discord.com/api/webhooks/1234567/hunter2hunter2hunter2' },
    ],
    [
      'discord+https://canary.discord.com/api/webhooks/1/x',
      { url: 'https://canary.discord.com/api/webhooks/1/x' },
    ],
    [
      'tgram://bot1234567:hunter2hunter2hunter2/-100123?topic=5',
      {
        url: 'https://api.telegram.org/bot1234567:hunter2hunter2hunter2/sendMessage',
        ...{ chat: '-100123', topic: 5, isPublicService: true },
      },
    ],
    [
      'TGRAM+HTTPS://bots.example.com/api/bot1234567:hunter2hunter2hunter2/@channel_1',
      {
        url: 'https://bots.example.com/api/bot1234567:hunter2hunter2hunter2/sendMessage',
        ...{ chat: '@channel_1', topic: null, isPublicService: false },
      },
    ],
    ['ntfy://My-Topic', { url: 'https://ntfy.sh/', topic: 'My-Topic', authorization: null }],
    ['ntfy://tk_1@My-Topic', { url: 'https://ntfy.sh/', authorization: 'Bearer tk_1' }],
    [
      'ntfys://ada:pass%40word@ntfy.example.com/topic',
      { url: 'https://ntfy.example.com/', authorization: `Basic ${btoa('ada:pass@word')}` },
    ],
    ['ntfy+http://nas:8080/topic', { url: 'http://nas:8080/', place: 'nas:8080' }],
    ['ntfy+http://192.168.1.5/topic', { url: 'http://192.168.1.5/' }],
    ['ntfy+http://[fd12::5]/topic', { url: 'http://[fd12::5]/' }],
    [
      'matrix://syt_1@matrix.example.com/!room:example.com',
      {
        url: 'https://matrix.example.com/_matrix/client/v3/rooms/!room%3Aexample.com/send/m.room.message',
        ...{ room: '!room:example.com', authorization: 'Bearer syt_1', isPublicService: false },
      },
    ],
    ['matrix://syt_1@matrix.org/%21room', { room: '!room', isPublicService: true }],
    ['gotify://push.example.com/base/Ahunter2', { url: 'https://push.example.com/base/message' }],
    [
      'apprise://ada:pw@apprise.example.com/key-1?tag=ops,%20night',
      {
        url: 'https://apprise.example.com/notify/key-1',
        ...{ tags: 'ops, night', authorization: `Basic ${btoa('ada:pw')}` },
      },
    ],
    [
      `webhook+https://example.com/in?to=ops#${HOOK}`,
      { url: 'https://example.com/in?to=ops', secret: HOOK },
    ],
  ])('accepts %s', (address, expected) => {
    // A comma would separate channels.
    expect(read(address.replace(',', '%2C'))[0]).toMatchObject(expected);
  });

  it.each([
    ['hunter2', 'is of an unknown kind; known kinds are mailto, slack'],
    ['hunter2://hunter2', 'is of an unknown kind'],
    ['https://hunter2.example/hook', 'is of an unknown kind'],
    ['mailto:hunter2', '(mail) needs a mail address'],
    ['mailto://hunter2@example.com', 'is of an unknown kind'],
    ['slack://hunter2', '(slack) must have three tokens'],
    ['slack+https://hunter2.example', '(slack) is not a webhook address'],
    ['https://hooks.slack.com/services/T0/B0', '(slack) is not a webhook address'],
    ['discord://1234567/hunter2', '(discord) must have an id and a token'],
    ['discord+https://discord.com/hunter2', '(discord) is not a webhook address'],
    ['tgram://hunter2/5', '(telegram) must have the token of a bot'],
    ['tgram://1234567:hunter2hunter2hunter2', '(telegram) must have the token of a bot'],
    ['tgram://1234567:hunter2hunter2hunter2/x y', undefined],
    ['tgram://1234567:hunter2hunter2hunter2/hunter2', '(telegram) must have the number of a chat'],
    ['tgram://1234567:hunter2hunter2hunter2/5?topic=hunter2', 'has a topic that is not a number'],
    ['tgram://1234567:hunter2hunter2hunter2/5?hunter2=1', 'has unknown or repeated parameters'],
    ['tgram://1234567:hunter2hunter2hunter2/%hunter2', 'has a % that is not followed by'],
    ['ntfy://hunter2.example/', '(ntfy) must have a topic'],
    ['ntfy://hunter2.example/topic?x=1', 'has unknown or repeated parameters; known: none'],
    ['ntfy://hunter2:1x/topic', '(ntfy) is not a valid address'],
    ['ntfy+http://hunter2.example/topic', '(ntfy) uses http, which is only allowed to a host of'],
    ['ntfy://ü:hunter2@example.com/topic', undefined],
    ['ntfy://%C3%BC:hunter2@example.com/topic', 'has credentials with characters other than'],
    ['gotify://example.com/', '(gotify) must have the token of an application'],
    ['gotify://hunter2@example.com/Ahunter2hunter2', '(gotify) must have the token'],
    ['matrix://example.com/!hunter2:example.com', '(matrix) must have an access token'],
    ['matrix://ada:hunter2@example.com/!room', '(matrix) must have an access token'],
    ['matrix://hunter2@example.com/#room:example.com', '(matrix) has a misplaced #'],
    ['matrix://hunter2@example.com/%23room:example.com', '(matrix) must end in the id of a room'],
    ['matrix://hunter2@example.com/!a%2Fb', '(matrix) must end in the id of a room'],
    ['matrix://hunter2@example.com/', '(matrix) must end in the id of a room'],
    ['matrix+http://hunter2@matrix.example.com/!room', '(matrix) uses http, which is only allowed'],
    ['apprise://example.com/', '(apprise) must have a key'],
    ['apprise://example.com/key?tag=a%00', '(apprise) has an invalid tag'],
    ['webhook://example.com/hunter2', '(webhook) must end in # and the signing secret'],
    ['webhook://example.com/#hunter2', '(webhook) must end in # and the signing secret'],
    [`webhook://example.com/#whsec_${btoa('hunter2')}`, 'must end in # and the signing secret'],
    [`webhook://ada:hunter2@example.com/#${HOOK}`, '(webhook) has credentials'],
    ['ntfy://169.254.169.254/hunter2', '(ntfy) leads to a link-local address'],
    ['ntfy+http://[fe80::1]/hunter2', '(ntfy) leads to a link-local address'],
    ['ntfy+http://[::ffff:a9fe:a9fe]/hunter2', '(ntfy) leads to a link-local address'],
    ['ntfy+http://2852039166/hunter2', '(ntfy) leads to a link-local address'],
    ['ntfy+http://100.100.100.200/hunter2', '(ntfy) leads to a link-local address'],
    [`ntfy://${'hunter2'.repeat(300)}`, 'is too long'],
  ])('rejects %s and reports its position', (address, fault) => {
    const attempt = () => read(`mailto:ops@example.com, mine=${address}`);
    expect(attempt).toThrow(/^ALERT_CHANNELS must be a list of channels, but entry 2 /);
    expect(attempt).not.toThrow(/hunter2/);
    if (fault !== undefined) expect(attempt).toThrow(fault);
  });

  it.each([
    [
      'two channels with one name',
      `a=${SLACK} A=mailto:ops@example.com`,
      'entry 2 (mail) has the same name as',
    ],
    [
      'a name that another channel has by its kind',
      `mail-1=${SLACK} mailto:ops@example.com`,
      'entry 2',
    ],
    [
      'a channel twice',
      `${SLACK} mailto:ops@example.com ${SLACK}`,
      'entry 3 (slack) leads to the same',
    ],
    [
      'too many channels',
      Array.from({ length: 21 }, (_, n) => `ntfy://topic-${n}`).join(),
      'more than 20',
    ],
  ])('rejects %s', (_fault, text, message) => {
    expect(() => read(text)).toThrow(message);
    expect(() => read(text)).not.toThrow(/hunter2/);
  });

  it('is a secret, and so are its addresses and their secret parts', () => {
    const secrets = (text: string) => configuredSecrets({ ALERT_CHANNELS: text });
    expect(secrets(`ops=${SLACK}`)).toEqual(
      expect.arrayContaining([SLACK, 'hunter2hunter2hunter2hun']),
    );
    expect(secrets('ntfy://ada:pass%40word@ntfy.example.com/topic')).toEqual(
      expect.arrayContaining([btoa('ada:pass@word'), 'pass@word']),
    );
    expect(secrets(`webhook://example.com/token-in-the-path#${HOOK}`)).toEqual(
      expect.arrayContaining([HOOK, HOOK.slice(6), 'token-in-the-path']),
    );
    expect(secrets('tgram://1234567:hunter2hunter2hunter2/-100123')).toContain(
      '1234567:hunter2hunter2hunter2',
    );
    expect(secrets('ntfy://hunter2hunter2hunter2')).toContain('hunter2hunter2hunter2');
    expect(secrets('nonsense=a more')).toEqual(['nonsense=a', 'more']);
    // The recipients of a mail see its addresses, and "topic" is a common word.
    expect(secrets('mailto:ops@example.com')).toEqual([]);
    expect(secrets('ntfy://topic')).toEqual(['ntfy://topic']);
  });
});
