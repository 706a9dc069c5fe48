/** A text that contains a secret. No part of `secret` may remain; `kept` must. */
export interface SecretShape {
  name: string;
  text: string;
  /** The secret, or its parts if something separates them. */
  secret: string | readonly string[];
  kept?: string;
}

// Every secret is assembled here, so that no scanner reports this file as a leak.
export const join = (...parts: string[]) => parts.join('');

export const alnum = 'aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dE3fG5hJ7kL9nP1qR3tV5wX7zA9cD1eF3gH5jK7mN9';
export const hex = '0f3a9c5e7b1d8264'.repeat(4);
const upper = 'Q3ZX7KPLM2WN5RTV';
const digits = '123456789012';
export const base64Of = (text: string) => Buffer.from(text).toString('base64');
export const take = (length: number) => alnum.slice(0, length);

const jwtHead = base64Of('{"alg":"HS256","typ":"JWT"}').replaceAll('=', '');
const jwtBody = base64Of('{"sub":"1234567890","name":"A Person"}').replaceAll('=', '');
const jwt = `${jwtHead}.${jwtBody}.${take(43)}`;
const githubToken = join('gh', 'p_', take(36));
export const pem = (label: string, lines: number) =>
  [
    join('-----BEGIN ', label, '-----'),
    ...Array.from({ length: lines }, (_, n) => `${n}${alnum.slice(n, n + 60)}`),
    join('-----END ', label, '-----'),
  ].join('\n');
export const pemBody = (lines: number) =>
  Array.from({ length: lines }, (_, n) => `${n}${alnum.slice(n, n + 60)}`);

/** A service's secret, alone on a log line. */
function issued(name: string, secret: string): SecretShape {
  return {
    name,
    text: `12:00:01 push failed with ${secret}, try again`,
    secret,
    kept: 'try again',
  };
}

const awsKey = join('AK', 'IA', upper);
const awsSecret = `${take(18)}/+${alnum.slice(20, 40)}`;
const word = 'hunter2-Zq7';
const letters = 'supersecretword';

export const secretShapes: readonly SecretShape[] = [
  issued('an AWS access key', awsKey),
  issued('a temporary AWS access key', join('AS', 'IA', upper)),
  {
    name: 'an AWS secret key in the credentials file',
    text: `[default]\naws_secret_access_key = ${awsSecret}\nregion = eu-west-1`,
    secret: awsSecret,
    kept: 'region = eu-west-1',
  },
  issued('a GitHub token', githubToken),
  issued('a fine-grained GitHub token', join('github', '_pat_', take(22), '_', take(59))),
  issued('a GitLab token', join('gl', 'pat-', take(20))),
  issued('a routable GitLab token', join('gl', 'pat-', take(30), '.01.', 'a1b2c3d4e')),
  issued('a GitLab runner token', join('gl', 'rt-', take(20))),
  issued('a GitLab deploy token', join('gl', 'dt-', take(20))),
  issued('a Bitbucket app password', join('AT', 'BB', take(28), 'A1B2C3D4')),
  issued('a Bitbucket access token', join('ATC', 'TT3xFfGN0', take(60), '=1A2B3C4D')),
  issued('an Atlassian token', join('ATA', 'TT3xFfGF0', take(60), '=1A2B3C4D')),
  issued('a Slack bot token', join('xo', 'xb-', digits, '-', digits, '-', take(24))),
  issued('a Slack user token', join('xo', 'xp-', `${digits}-`.repeat(3), hex.slice(0, 32))),
  issued('a Slack app token', join('xa', 'pp-1-A0', upper.slice(0, 9), '-', digits, '-', hex)),
  {
    name: 'a Slack webhook',
    text: `curl https://hooks.slack${'.com'}/services/T0${upper.slice(0, 8)}/B0${upper.slice(4, 12)}/${take(24)}`,
    secret: take(24),
    kept: 'hooks.slack',
  },
  issued('a Stripe key', join('sk', '_live_', take(24))),
  issued('a restricted Stripe key', join('rk', '_live_', take(24))),
  issued('a Stripe webhook secret', join('wh', 'sec_', take(32))),
  issued('a Google API key', join('AI', 'za', take(35))),
  issued('a Google access token', join('ya', '29.', take(60))),
  issued('a Google client secret', join('GOC', 'SPX-', take(28))),
  issued('an npm token', join('np', 'm_', take(36))),
  issued('a PyPI token', join('py', 'pi-AgEIcHlwaS5vcmc', take(60))),
  issued('a SendGrid key', join('S', 'G.', take(22), '.', take(43))),
  issued('a Resend key', join('re', '_', take(8), '_', take(24))),
  issued('a Hugging Face token', join('hf', '_', 'abcdefghijKLMNOPQRSTuvwxyzABCDEFGH')),
  issued('a Docker token', join('dckr', '_pat_', take(27))),
  issued('an Anthropic key', join('sk', '-ant-api03-', take(60))),
  issued('an OpenAI key', join('sk', '-proj-', take(48))),
  issued('a DigitalOcean token', join('dop', '_v1_', hex)),
  issued('a Vault token', join('hv', 's.', take(70))),
  issued('a Twilio key', join('S', 'K', hex.slice(0, 32))),
  issued('a Telegram bot token', join('1234567890', ':AA', take(33))),
  issued('a Shopify token', join('shp', 'at_', hex.slice(0, 32))),
  issued('a Tailscale key', join('ts', 'key-auth-', take(11), '-', take(32))),
  issued('a bare JWT', jwt),
  {
    name: 'a PEM private key',
    text: `before\n${pem(join('RSA PRIV', 'ATE KEY'), 5)}\nafter`,
    secret: pemBody(5),
    kept: 'after',
  },
  {
    name: 'an OpenSSH private key in JSON',
    text: JSON.stringify({ key: pem(join('OPENSSH PRIV', 'ATE KEY'), 3), next: 1 }),
    secret: pemBody(3),
    kept: '"next":1',
  },
  {
    name: 'a private key without its end',
    text: pem(join('PRIV', 'ATE KEY'), 4).split('\n').slice(0, -1).join('\n'),
    secret: pemBody(4),
  },
  {
    name: 'a private key in base64',
    text: `client-key-data: ${base64Of(pem(join('RSA PRIV', 'ATE KEY'), 3))}`,
    secret: base64Of(pem(join('RSA PRIV', 'ATE KEY'), 3)).slice(20, 200),
    kept: 'client-key-data',
  },
  issued(
    'an age key',
    join('AGE-SECRET', '-KEY-1', 'QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L'.repeat(2).slice(0, 58)),
  ),
  ...(
    [
      ['Authorization: token', `Authorization: token ${word}`],
      ['Authorization without a scheme', `> authorization: ${word}`],
      ['Authorization: Bearer', `Authorization: Bearer ${word}`],
      ['Bearer and a tab', `Authorization: Bearer\t${word}`],
      [
        'Authorization: Basic',
        `Authorization: Basic ${base64Of(`me:${word}`)}`,
        base64Of(`me:${word}`),
      ],
      ['X-Api-Key', `X-Api-Key: ${word}`],
      ['PRIVATE-TOKEN', `curl -H 'PRIVATE-TOKEN: ${word}' https://gitlab.example.org`],
      ['a cookie', `Cookie: theme=dark; session=${word}; lang=en`],
      ['Set-Cookie', `Set-Cookie: session=${word}; Path=/; HttpOnly`],
      ['password=', `password=${word}`],
      ['password = in quotes', `password = "${word} and more"`],
      ['password= with only letters', `password=${letters}`, letters],
      ['a YAML password of only letters', `password: ${letters}\n`, letters],
      ['a JSON password of only letters', `{"password":"${letters}"}`, letters],
      ['a long password', `password="${alnum.repeat(5)}"`, alnum],
      ['PGPASSWORD', `PGPASSWORD=${word} psql -h db`],
      ['an environment variable', `export SMTP_PASSWORD='${word}'`],
      ['--token=', `gh-backup --token=${word} --all`],
      ['--password x', `mysqldump --user me --password ${word} shop`],
      ['a list of arguments', `["login","--password","${word}"]`],
      ['a YAML password', `database:\n  user: me\n  password: ${word}\n  port: 5432`],
      ['a YAML password in quotes', `  password: '${word}'`],
      ['a JSON password', `{"user":"me","password":"${word}","port":5432}`],
      ['a JSON password with a quotation mark', `{"password":"a\\"${word}"}`],
      ['JSON within JSON', JSON.stringify(JSON.stringify({ password: word }))],
      ['a client secret', `clientSecret: "${word}",`],
      ['an API key', `OPENWEATHER_API_KEY=${word}`],
      ['netrc', `machine example.org login me password ${word}`],
      ['netrc in lines', `machine example.org\n  login me\n  password ${word}\n`],
      [
        'docker auth',
        `{"auths":{"ghcr.io":{"auth":"${base64Of(`me:${word}`)}"}}}`,
        base64Of(`me:${word}`),
      ],
      ['npmrc', `//registry.example.org/:_authToken=${word}`],
      ['XML', `<server><id>a</id><password>${word}</password></server>`],
      ['a connection string', `Server=db;User Id=me;Password=${word};Encrypt=yes`],
      ['an Azure storage key', `AccountName=x;AccountKey=${take(60)}==;EndpointSuffix=a`, take(60)],
      ['key= in a URL', `GET https://maps.example.org/api?key=${word}&q=Bern`],
      ['code= in a URL', `GET /callback?code=${word}&state=1`],
      ['#access_token= in a URL', `https://example.org/#access_token=${word}&expires_in=3600`],
      ['sig= in a URL', `https://x.blob.example.org/a?sv=2024&sig=${word}%3D`],
      ['the password of a URL', `fatal: unable to access 'https://me:${word}@example.org/a.git/'`],
      ['a database password', `postgres://me:${word}@db:5432/shop`],
      ['a database password with a space', `postgres://me:x ${word}@db:5432/shop`],
      ['a database password with <', `postgres://me:x<${word}@db:5432/shop`],
      ['a database password with "', `postgres://me:x"${word}@db:5432/shop`],
      ['a database password with #', `mysql://me:x#${word}@db/shop`],
      ['curl -u', `curl -u me:${word} https://example.org`],
      ['sshpass', `sshpass -p ${word} ssh me@host`],
      ['SQL', `ALTER ROLE me WITH PASSWORD '${word}';`],
      ['pgpass', `db.example.org:5432:shop:me:${word}`],
    ] as [string, string, string?][]
  ).map(([name, text, secret = word]) => ({ name, text, secret })),
  ...(
    [
      ['zero-width spaces', '\u200b'],
      ['soft hyphens', '\u00ad'],
      ['a byte order mark', '\ufeff'],
      ['a tag character', '\u{e0041}'],
      ['a direction mark', '\u202e'],
      ['a line break', '\n'],
      ['a line break and an indentation', '\r\n    '],
      ['an escaped line break', '\\n'],
      ['a color', '\u001b[31m'],
      ['a color and its end', '\u001b[1;32m\u001b[0m'],
      ['a terminal title', '\u001b]0;x\u0007'],
    ] as const
  ).map(([name, sign]) => ({
    name: `a token broken by ${name}`,
    text: `remote: ${githubToken.slice(0, 17)}${sign}${githubToken.slice(17)} was refused`,
    secret: [githubToken.slice(0, 17), githubToken.slice(17)],
    kept: 'was refused',
  })),
  {
    name: 'a password broken by zero-width spaces',
    text: `pass\u200bword=${word.slice(0, 5)}\u200b${word.slice(5)}`,
    secret: [word.slice(0, 5), word.slice(5)],
  },
  {
    name: 'a JWT over lines',
    text: `${jwt.slice(0, 40)}\n${jwt.slice(40, 80)}\n${jwt.slice(80)}\n`,
    secret: [jwt.slice(0, 40), jwt.slice(40, 80), jwt.slice(80)],
  },
  {
    name: 'a password in a YAML block',
    text: `password: |\n  ${word}\nnext: 1`,
    secret: word,
    kept: 'next: 1',
  },
  {
    name: 'a password in three quotation marks',
    text: `password = '''${word}'''\nnext = 1`,
    secret: word,
    kept: 'next = 1',
  },
];
