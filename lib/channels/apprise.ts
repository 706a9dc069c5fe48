import { authorize, fault, parseServer, readParameters, type WrittenAddress } from './address.ts';
import { type AlertMessage, defineChannel } from './channel.ts';
import { joinFitting, toPlain, withoutMentions } from './compose.ts';

// It takes plain text in JSON fields: nothing in it acts as a header or as markup.

const MAX_CHARS = 4_000;

/** Keys of an Apprise API. */
export const apprise = defineChannel({
  kind: 'apprise',
  label: 'Apprise API',
  schemes: ['apprise', 'apprises'],
  example: 'apprise://apprise.example.com/KEY',
  parse,
  request: (address, message) => ({
    service: 'the Apprise API',
    headers: authorize(address),
    body: compose(address, message),
    // This is how it answers for a key under which nothing is stored.
    refusals: { 204: 'the Apprise API has nothing under this key' },
  }),
});

/** `apprise://[USER:PASSWORD@]HOST/KEY?tag=…` of an Apprise API. */
function parse(written: WrittenAddress) {
  const { url, authorization, path } = parseServer(written);
  const { tag } = readParameters(url, ['tag']);
  const key = path.pop() ?? '';
  if (!/^[\w-]{1,128}$/.test(key)) throw fault('must have a key, as in apprise://HOST/KEY');
  if (tag !== undefined && !/^[\w, -]{1,200}$/.test(tag)) throw fault('has an invalid tag');
  url.search = '';
  url.pathname = [...path, 'notify', key].join('/');
  return {
    kind: 'apprise' as const,
    url: url.href,
    isPublicService: false,
    tags: tag ?? null,
    authorization,
    place: url.host,
  };
}

/** The body of a message for an Apprise API, which passes it on and cuts it for each of its services. */
function compose({ tags }: { tags: string | null }, message: AlertMessage): object {
  const plain = toPlain(message);
  const lines = joinFitting(plain, MAX_CHARS);
  const title = withoutMentions(plain.title);
  return {
    title,
    body: [withoutMentions(lines) || title, ...(plain.link === null ? [] : [plain.link])].join(
      '\n',
    ),
    type: typeOf(message),
    format: 'text',
    ...(tags === null ? {} : { tag: tags }),
  };
}

function typeOf({ kind, severity }: AlertMessage): string {
  if (kind === 'resolved') return 'success';
  return { critical: 'failure', warning: 'warning', info: 'info' }[severity];
}
