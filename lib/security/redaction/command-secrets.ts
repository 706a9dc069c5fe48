import { isHarmless } from './harmless-values.ts';
import { BARRIER } from './mask.ts';
import { isSecretName } from './named-values.ts';
import { findAll, type Range } from './ranges.ts';

/** How far the options of a command are searched. */
const MAX_COMMAND_LENGTH = 500;

const value = `(?:"([^"\\0\\n]{1,200})"|'([^'\\0\\n]{1,200})'|([^\\s"'\`\\0|;&]{1,200}))`;
/** An option whose value follows it, after white space or `=`. */
const option = (name: string) => new RegExp(`(?:^|\\s)${name}(?:[ \\t]{1,4}|=)${value}`, 'g');
/** An option whose value follows it without a gap. */
const joined = (name: string) => new RegExp(`(?:^|\\s)${name}(?!-)${value}`, 'g');

/** How many commands are searched among the options of another, as after `ssh host`. */
const MAX_NESTED = 4;

/** Options and arguments of commands that are passwords, by the name of the command. */
const commands: readonly { names: string; secrets: readonly RegExp[]; only?: RegExp }[] = [
  {
    names:
      'docker|podman|nerdctl|buildah|skopeo|helm|oras|crane|regctl|az|ibmcloud|oc|argocd|heroku|cf',
    secrets: [option('-p'), joined('-p(?!assword)')],
    // Elsewhere it is a port or a project.
    only: /\s(?:login|auth)\s/,
  },
  {
    names: 'mongo|mongosh|mongodump|mongorestore|mongoexport|mongoimport|mongostat',
    secrets: [option('-p')],
  },
  {
    names: 'mysql|mysqldump|mysqladmin|mysqlimport|mariadb|mariadb-dump|xtrabackup',
    secrets: [joined('-p')],
  },
  { names: 'redis-cli|valkey-cli', secrets: [option('-a')] },
  {
    names:
      'sqlcmd|bcp|isql|osql|mosquitto_pub|mosquitto_sub|mosquitto_passwd|unzip|zip|clickhouse-client',
    secrets: [option('-P')],
  },
  {
    names: 'ldapsearch|ldapadd|ldapmodify|ldapdelete|ldapwhoami|ldappasswd',
    secrets: [option('-w')],
  },
  { names: '7z|7za|7zr|7zz|rar|unrar', secrets: [joined('-h?p')] },
  { names: 'xfreerdp|xfreerdp3|wfreerdp', secrets: [joined('/p:')] },
  { names: 'schtasks', secrets: [option('/rp')] },
  {
    names: 'rabbitmqctl',
    secrets: [
      new RegExp(`^ (?:add_user|change_password|authenticate_user) \\S{1,60} ${value}`, 'g'),
    ],
  },
  {
    names: 'ncftpput|ncftpget|psexec|sshpass|cqlsh|snowsql|beeline|influx|pscp|plink',
    secrets: [option('-p'), option('-pw')],
  },
  { names: 'openssl', secrets: [option('-k'), /\spass:(?:()()([^\s"'\0]{1,200}))/g] },
  {
    names: 'smbclient|smbget|rpcclient',
    secrets: [/(?:^|\s)(?:-U|--user)[ \t=]{0,4}["']?[^\s%"']{1,100}%(?:()()([^\s"'\0]{1,200}))/g],
  },
  {
    names: 'lftp|ncftp',
    secrets: [/(?:^|\s)-u[ \t]{1,4}["']?[^\s,"']{1,100},(?:()()([^\s"'\0]{1,200}))/g],
  },
  {
    names: 'htpasswd',
    secrets: [
      new RegExp(
        `\\s-\\w{0,8}b\\w{0,8}(?:\\s{1,4}-\\w{1,8}){0,4}\\s{1,4}\\S{1,200}\\s{1,4}[^\\s-]\\S{0,100}\\s{1,4}${value}`,
        'g',
      ),
    ],
  },
  {
    names: 'net',
    secrets: [
      new RegExp(`^ use .{1,200}?\\/user:\\S{1,100}\\s{1,4}${value}`, 'gi'),
      // The password may also stand before the user; `*` asks for it.
      new RegExp(
        `^ use \\S{1,60}(?: \\\\\\\\\\S{1,200})? (?![*/\\\\])${value}(?= .{0,40}\\/user:)`,
        'gi',
      ),
      new RegExp(`^ user [^\\s/]{1,60} (?![*/])${value}(?= |$)`, 'gi'),
    ],
  },
  {
    names: 'keytool|jarsigner',
    secrets: [option('-(?:src|dest)?(?:store|key)pass')],
  },
  {
    names: 'kubectl',
    secrets: [option('--from-literal[= ][\\w.-]{1,60}')],
    only: /\ssecret\s/,
  },
  {
    names: 'rclone',
    secrets: [option('(?:pass|secret_access_key|client_secret)')],
    only: /^ config (?:create|update|password) /,
  },
  { names: 'vault', secrets: [new RegExp(`^ login (?:-\\S{1,40} ){0,4}(?!-)${value}`, 'g')] },
  {
    names: 'sqlplus|sqlcl|sqlldr|expdp|impdp|exp|imp|rman',
    secrets: [/\s["']?[\w$#.-]{1,60}\/(?:()()([^\s@"'/\0]{1,200}))@/g],
  },
  {
    names: 'curl|wget|etcdctl',
    secrets: [
      option('--oauth2-bearer'),
      userOption('(?:-u|--user|--proxy-user|-U)'),
      // Cookies, but not the name of a file with cookies
      /\s(?:-b|--cookie)[ \t=]{0,4}(?:()()(?:["'][\w.-]{1,64}=([^"'\0\n]{6,1000})))/g,
      /\s(?:-b|--cookie)[ \t=]{0,4}(?:()()(?:[\w.-]{1,64}=([^\s"'\0]{6,400})))/g,
    ],
  },
  { names: 'http|https|xh', secrets: [userOption('(?:-a|--auth)')] },
  {
    names: 'mc',
    secrets: [
      new RegExp(
        `^ (?:alias|config host) (?:set|add) \\S{1,60} \\S{1,200} \\S{1,200} ${value}`,
        'g',
      ),
    ],
  },
  {
    names: 'b2',
    secrets: [new RegExp(`^ (?:authorize-account|account authorize) \\S{1,60} ${value}`, 'g')],
  },
  {
    names: 'ansible-vault',
    secrets: [
      new RegExp(`^ encrypt_string (?:--?[\\w-]{1,40}(?:[ =][\\w@./-]{1,80})? ){0,4}${value}`, 'g'),
    ],
  },
];

/** `-u name:password`, quoted or not, also without a gap; but not `-u https://host`. */
function userOption(names: string): RegExp {
  return new RegExp(
    `(?:^|\\s)${names}[ \\t=]{0,4}["']?[^\\s:'"$]{1,200}:(?!\\/\\/)(?!\\d{1,5}(?:[\\s"']|$))(?:()()([^\\s'"\\0]{1,400}))`,
    'g',
  );
}

const command = new RegExp(
  `(?<![\\w.@-])(?:${commands.map(({ names }) => `(${names})`).join('|')})(?:\\.exe)?(?=[ \\t])`,
  'g',
);
/** What ends a command, outside of quotation marks. */
const commandEnd = /[\r\n\0]|\s(?:\||&&|;)\s/;

/** What may precede a line of a file in a log: a time, the name of a container, a mark of git or of a diff. */
const LINE_START =
  '(?:\\[?\\d{4}-\\d\\d-\\d\\d[T ]\\d\\d:\\d\\d:\\d\\d[\\d.,]{0,10}(?:Z|[+-]\\d\\d:?\\d\\d)?\\]?:?[ \\t]{1,4})?(?:[\\w.-]{1,40}[ \\t]{0,20}\\|[ \\t])?(?:remote: |[+>-] ?)?';
const atLine = ({ source, flags }: RegExp) => new RegExp(`^${LINE_START}${source}`, `${flags}gm`);

/** Passwords in places of their own. Their last group is the password. */
const places: readonly RegExp[] = [
  /\becho[ \t]{1,4}["']?[\w.-]{1,64}:([^\s"'\0|]{1,200})["']?[ \t]{0,4}\|[ \t]{0,4}(?:sudo[ \t]{1,4})?chpasswd\b/g,
  /\becho[ \t]{1,4}(?:-n[ \t]{1,4})?["']?([^\s"'\0|$`]{1,200})["']?[ \t]{0,4}\|(?:[^\r\n|\0]{0,200}--password-stdin|[ \t]{0,4}sudo[ \t]{1,4}-\w{0,4}S|[ \t]{0,4}(?:sudo[ \t]{1,4})?(?:cryptsetup|kinit|passwd[ \t]{1,4}--stdin))\b/g,
  /(?<![A-Za-z])pass(?:word|phrase|wd|code)?[_-]?(?:command|cmd)["'`\\]{0,3}[ \t]{0,4}[=: \t][ \t]{0,4}[["'\\]{0,4}(?:echo|printf)(?:[ \t]{1,4}|["'\\]{1,4},[ \t]{0,4}["'\\]{1,4})(?:(?:-n|["'\\]{0,4}%s(?:\\{1,2}n)?["'\\]{0,4})[, \t]{1,4})?["'\\]{0,4}([^\s"'\0$`\\]{1,200})/gi,
  /pass(?:word|phrase|wd)?-?file[= ]<\([ \t]{0,4}(?:echo|printf)[ \t]{1,4}(?:-n[ \t]{1,4})?["']?([^\s"'()\0$`]{1,200})/gi,
  /\bConvertTo-SecureString[ \t]{1,4}(?:-String[ \t]{1,4})?["']([^"'\0\n]{1,200})["']/gi,
  /(?:--with-token|--password-stdin|--token-stdin|\b(?:cryptsetup|kinit|sudo[ \t]-S)\b[^\r\n<\0]{0,200})[ \t]{0,4}<<<[ \t]{0,4}["']?([^\s"'\0$`]{1,400})/g,
  // SQL
  /\bconn(?:ect)?[ \t]{1,4}[\w$#]{1,30}\/([^\s@/"'\0]{1,128})(?=@)/gi,
  /\bIDENTIFIED[ \t]{1,4}(?:WITH[ \t]{1,4}\S{1,60}[ \t]{1,4})?BY[ \t]{1,4}(?:PASSWORD[ \t]{1,4})?["']([^"'\0\n]{1,200})["']/gi,
  /\bSET[ \t]{1,4}PASSWORD[ \t]{1,4}FOR[ \t]{1,4}\S{1,120}[ \t]{0,4}=[ \t]{0,4}'([^'\0\n]{1,200})'/gi,
  /\bPASSWORD\([ \t]{0,4}'([^'\0\n]{1,200})'[ \t]{0,4}\)/gi,
  // In a message
  /\b(?:creds|credentials|login|zugangsdaten|logindaten):[ \t][A-Za-z][\w.@-]{0,63}:((?=\S{0,100}\d)(?=\S{0,100}[A-Za-z])[^\s\0]{6,200})/gi,
  /\b(?:user(?:name)?|benutzer|login) ?\/ ?(?:pass(?:word|wort)?|pw)[ \t]?[:=][ \t]?[\w.@-]{1,64} ?\/ ?((?=\S{0,100}\d)(?=\S{0,100}[A-Za-z])[^\s\0]{6,200})/gi,
  /--(?:src-|dest-)?creds[= ]["']?[^\s:"']{1,100}:([^\s"'\0$]{1,200})/g,
  /\bbundle config (?:set )?(?:--\w{1,20} ){0,2}[\w./:-]{1,200}[ \t][\w.@-]{1,64}:([^\s"'\0$/]{1,200})/g,
  // Files of Postfix
  /\bstatic:[^\s:]{1,100}:(?!\d{1,5}(?:\s|$))([^\s\0]{3,200})/g,
  atLine(
    /\[[\w-]{1,60}(?:\.[\w-]{1,60}){1,8}\](?::\d{2,5})?[ \t]{1,40}(?!SHA256:|MD5:)[^\s:]{1,100}:([^\s\0]{1,200})$/,
  ),
  // A line of .pgpass, and of .curlrc
  atLine(/[\w.*-]{1,253}:(?:\d{4,5}|\*):[^:\s]{1,63}:[^:\s]{1,63}:((?:[^\r\n\0:\\]|\\.){1,200})$/),
  atLine(
    /[ \t]{0,8}(?:proxy-)?user[ \t]{0,4}[= \t][ \t]{0,4}"?[^\s:"]{1,100}:(?!\/\/)([^\s"\0]{1,200})"?$/,
  ),
  // Commands of routers and switches
  atLine(
    /[ \t]{0,8}(?:enable|username[ \t]\S{1,60})[ \t](?:privilege[ \t]\d{1,2}[ \t])?(?:password|secret)[ \t](?:\d[ \t])?([^\s"\0]{3,200})[ \t]*$/,
  ),
  /\b(?:snmp-server[ \t]community|rocommunity6?|rwcommunity6?)[ \t]([^\s"\0]{1,200})/g,
  // A key of named.conf
  /\bsecret[ \t]{1,8}"([A-Za-z\d+/=]{12,200})"[ \t]?;/g,
  // Directives of nslcd.conf and ldap.conf
  atLine(
    /[ \t]{0,8}(?:bindpw|rootpw)[ \t]{1,8}(?:--(?:plaintext|iscrypted)[ \t])?"?([^\s"\0]{1,200})/,
  ),
  // Directives of redis.conf
  atLine(
    /[ \t]{0,8}(?:requirepass|masterauth|sentinel[ \t]auth-pass[ \t]\S{1,60})[ \t]{1,8}"?([^\s"\0]{1,200})/,
  ),
  // FTP, POP3, IMAP, SMTP and Redis
  /\bUSER[ \t]\S{1,100}\r?\n(?:[^\r\n]{0,120}\r?\n)?[^\r\n\w]{0,8}PASS[ \t]([^\r\n\0]{1,200})/g,
  /(?:^|[\s>:])[A-Za-z]{0,8}\d{1,8}[ \t]LOGIN[ \t]"?[^\s"]{1,100}"?[ \t]"?([^\s"\0]{1,200})/g,
  /\bAUTH[ \t](?:PLAIN|LOGIN|XOAUTH2)[ \t]([A-Za-z\d+/]{8,4096}={0,2})/g,
  /^AUTH[ \t](?:\w{1,60}[ \t])?((?=\S{0,200}\d)(?=\S{0,200}[A-Za-z])\S{8,200})$/gm,
];

const argument = String.raw`(?:["'][^"'\n\0]{0,200}["']|[\w$.]{1,60})\s{0,8},\s{0,8}`;
/** Arguments of calls and directives that are passwords, by their position. Their last group is the password. */
const calls: readonly RegExp[] = [
  /^(?:remote: |[+>-])?[ \t]{0,16}[@\w.-]{0,30}(?:[Pp]assword|[Pp]asswd)[ \t]{1,8}"([^"\n\0]{3,200})"[ \t;]{0,8}$/gm,
  new RegExp(
    `\\b(?:mysqli(?:_(?:real_)?connect)?|mysql_connect|PDO(?:->__construct)?|getConnection)\\(\\s{0,8}(?:${argument}){2}["']([^"'\\n\\0]{1,200})["']`,
    'g',
  ),
  new RegExp(
    `\\b(?:HTTPBasicAuth|BasicAuth|SetBasicAuth|basicAuth|basic_auth|auth=|jwt\\.(?:sign|verify|encode|decode)|\\w{0,30}Credentials?|\\.(?:login|authenticate|signIn))\\(\\s{0,8}${argument}["']([^"'\\n\\0]{1,200})["']`,
    'g',
  ),
  // The last of four arguments in sbt
  new RegExp(`\\bCredentials\\(\\s{0,8}(?:${argument}){3}["']([^"'\\n\\0]{1,200})["']`, 'g'),
  /CURLOPT_(?:PROXY)?USERPWD\s{0,8}(?:,|=>)\s{0,8}["'][^"':\n\0]{0,80}:([^"'\n\0]{1,200})["']/g,
];

/** The columns of an INSERT of SQL, up to its first row. */
const insertHead =
  /\bINSERT[ \t]{1,8}(?:\w{1,10}[ \t]{1,8}){0,2}INTO[ \t]{1,8}[\w."`[\]]{1,120}[ \t]{0,8}\(([^()\0]{1,1000})\)\s{0,8}VALUES\s{0,8}(?=\()/gi;
const rowStart = /(?:,\s{0,8})?\(\s{0,8}/y;
/** A string, also of the kinds `E'…'` and `N'…'`, or anything else without one. */
const rowValue =
  /(?:([A-Za-z_]{0,10}(["']))((?:(?!\2)[^\\\0]|\2\2|\\[^\0]){0,1000})\2|[^'",()\0]{0,200}(?:\([^()\0]{0,200}\))?)\s{0,8}(?:,\s{0,8}|(?=\)))/y;
const MAX_ROWS = 1_000;

/** Finds what is inserted into columns that have the name of a secret. */
function findInserted(text: string): Range[] {
  const found: Range[] = [];
  for (const { 0: head, 1: names = '', index } of findAll(text, insertHead)) {
    const columns = names.split(',').map((name) => isSecretName(name.replace(/[\s"'`[\]]/g, '')));
    if (!columns.includes(true)) continue;
    let at = index + head.length;
    for (let row = 0; row < MAX_ROWS; row += 1) {
      rowStart.lastIndex = at;
      if (!rowStart.test(text)) break;
      at = rowStart.lastIndex;
      for (const isSecret of columns) {
        rowValue.lastIndex = at;
        const value = rowValue.exec(text);
        if (value === null) break;
        const { 1: opening = '', 3: quoted = '' } = value;
        const start = at + opening.length;
        if (isSecret && quoted !== '' && !quoted.includes(BARRIER))
          found.push({ start, end: start + quoted.length });
        at = rowValue.lastIndex;
      }
      if (text[at] !== ')') break;
      at += 1;
    }
  }
  return found;
}

/** Finds passwords in the options of commands, in files of clients, and in the log of a protocol. */
export function findCommandSecrets(text: string): Range[] {
  const found: Range[] = [];
  const add = (end: number, secret: string) => {
    if (!/^\$|\0/.test(secret)) found.push({ start: end - secret.length, end });
  };
  let searched = 0;
  let nested = 0;
  for (const match of findAll(text, command)) {
    nested = match.index < searched ? nested + 1 : 0;
    if (nested > MAX_NESTED) continue;
    const at = match.index + match[0].length;
    const rest = text.slice(at, at + MAX_COMMAND_LENGTH);
    const options = rest.slice(0, commandEnd.exec(rest)?.index);
    searched = Math.max(searched, at + options.length);
    const index = match.findIndex((name, group) => group > 0 && name !== undefined);
    const { secrets, only } = commands[index - 1] ?? { secrets: [] };
    if (only?.test(options) === false) continue;
    for (const pattern of secrets) {
      for (const { 0: all, 1: double, 2: single, 3: bare, index: from } of findAll(
        options,
        pattern,
      )) {
        const secret = double || single || bare || '';
        const closing = double || single ? 1 : 0;
        const end = from + all.lastIndexOf(secret) + secret.length;
        if (end + closing <= options.length) add(at + end, secret);
      }
    }
  }
  for (const pattern of places) {
    for (const { 0: all, 1: given = '', index } of findAll(text, pattern)) {
      if (!given.includes(BARRIER)) add(index + all.lastIndexOf(given) + given.length, given);
    }
  }
  for (const pattern of calls) {
    for (const { 0: all, 1: secret = '', index } of findAll(text, pattern)) {
      const end = index + all.lastIndexOf(secret) + secret.length;
      const isKnown = isHarmless(secret, { isExact: true, isQuoted: true, before: '', next: '' });
      if (!isKnown) add(end, secret);
    }
  }
  return [...found, ...findInserted(text)];
}
