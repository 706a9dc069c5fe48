import { helpOption, type OptionsShape, readOptions, readWord, wrongUsage } from '../options.ts';
import type { Help } from '../usage.ts';
import type { LoginName } from './login.ts';
import { appUsage, authUsage, loginUsage, logoutUsage } from './usage.ts';

/** A command about logins, as the line asks for it (decisions 7). */
export type LoginCommand =
  | {
      name: 'login github';
      login: Extract<LoginName, `github:${string}`>;
      clientId: string | null;
      importToken: boolean;
      store: StoreChoice;
    }
  | { name: 'login gateway'; paste: boolean; store: StoreChoice }
  | { name: 'app create'; appName: string | null; organization: string | null; force: boolean }
  | { name: 'auth status'; check: boolean; json: boolean }
  | { name: 'auth token gateway' }
  | { name: 'logout'; login: LoginName | 'all' };

/** `file` forces the file; `auto` tries the keychain first. */
export type StoreChoice = 'auto' | 'file';

const profileOption = { profile: { type: 'string', words: ['source', 'destination'] } } as const;
const storeOption = { store: { type: 'string', words: ['auto', 'file'] } } as const;

const gatewayOptions = { paste: { type: 'boolean' }, ...storeOption, ...helpOption } as const;
const githubOptions = {
  ...profileOption,
  'client-id': { type: 'string' },
  'import-token': { type: 'boolean' },
  ...storeOption,
  ...helpOption,
} as const;
const statusOptions = {
  check: { type: 'boolean' },
  json: { type: 'boolean' },
  ...helpOption,
} as const;
const appOptions = {
  name: { type: 'string' },
  org: { type: 'string' },
  force: { type: 'boolean' },
  ...helpOption,
} as const;

/** Reads the arguments of `login`. This and the others throw BAD_REQUEST. */
export function parseLogin(args: readonly string[]): LoginCommand | Help {
  const [where, rest] = takeWord(args);
  if (where === null) return help(loginUsage, rest, { ...gatewayOptions, ...githubOptions });
  const service = readWord(where, ['github', 'gateway'], 'service to log in to');
  if (service === 'gateway') {
    const line = readWithoutWords(rest, gatewayOptions);
    if (line.flag('help')) return { name: 'help', text: loginUsage };
    return { name: 'login gateway', paste: line.flag('paste'), store: storeOf(line.text('store')) };
  }
  const line = readWithoutWords(rest, githubOptions);
  if (line.flag('help')) return { name: 'help', text: loginUsage };
  const clientId = line.text('client-id');
  if (clientId !== null && line.flag('import-token')) {
    throw wrongUsage('--client-id and --import-token exclude each other');
  }
  if (clientId !== null && !/^[\w.-]+$/.test(clientId)) {
    throw wrongUsage('--client-id takes the client id of an app');
  }
  return {
    name: 'login github',
    login: gitLogin(line.text('profile')),
    clientId,
    importToken: line.flag('import-token'),
    store: storeOf(line.text('store')),
  };
}

/** Reads the arguments of `logout`. */
export function parseLogout(args: readonly string[]): LoginCommand | Help {
  const [where, rest] = takeWord(args);
  if (where === null) return help(logoutUsage, rest, { ...profileOption, ...helpOption });
  const service = readWord(where, ['github', 'gateway', 'all'], 'login to remove');
  const options = service === 'github' ? { ...profileOption, ...helpOption } : helpOption;
  const line = readWithoutWords(rest, options);
  if (line.flag('help')) return { name: 'help', text: logoutUsage };
  if (service === 'all') return { name: 'logout', login: 'all' };
  const login = service === 'github' ? gitLogin(line.text('profile')) : 'gateway:default';
  return { name: 'logout', login };
}

/** Reads the arguments of `auth`. */
export function parseAuth(args: readonly string[]): LoginCommand | Help {
  const [what, rest] = takeWord(args);
  if (what === null) return help(authUsage, rest, statusOptions);
  if (readWord(what, ['status', 'token'], 'auth command') === 'status') {
    const line = readWithoutWords(rest, statusOptions);
    if (line.flag('help')) return { name: 'help', text: authUsage };
    return { name: 'auth status', check: line.flag('check'), json: line.flag('json') };
  }
  const [service, others] = takeWord(rest);
  if (service === null) return help(authUsage, others, helpOption);
  readWord(service, ['gateway'], 'token');
  const line = readWithoutWords(others, helpOption);
  return line.flag('help') ? { name: 'help', text: authUsage } : { name: 'auth token gateway' };
}

/** Reads the arguments of `app`. */
export function parseApp(args: readonly string[]): LoginCommand | Help {
  const [what, rest] = takeWord(args);
  if (what === null) return help(appUsage, rest, appOptions);
  readWord(what, ['create'], 'app command');
  const line = readWithoutWords(rest, appOptions);
  if (line.flag('help')) return { name: 'help', text: appUsage };
  const [appName, organization] = [line.text('name'), line.text('org')];
  if (appName !== null && (appName.length > 34 || /\p{Cc}/u.test(appName))) {
    throw wrongUsage('--name takes at most 34 characters, as the git host does');
  }
  if (organization !== null && !/^[a-z\d][a-z\d_-]*$/i.test(organization)) {
    throw wrongUsage('--org takes the name of an organization');
  }
  return { name: 'app create', appName, organization, force: line.flag('force') };
}

/** The first word, where the line begins with one, and the rest. */
function takeWord(args: readonly string[]): [word: string | null, rest: readonly string[]] {
  const [first, ...rest] = args;
  return first === undefined || first.startsWith('-') ? [null, args] : [first, rest];
}

/** A command whose line does not begin with its word is complete only as a question for help. */
function help(text: string, args: readonly string[], options: OptionsShape): Help {
  const line = readOptions(args, options);
  if (line.flag('help')) return { name: 'help', text };
  throw wrongUsage(
    `the command is not complete; what it is about comes before options.\n\n${text}`,
  );
}

function readWithoutWords(args: readonly string[], options: OptionsShape) {
  const line = readOptions(args, options);
  if (line.positionals.length === 0) return line;
  // Not repeated: somebody may have typed a token there.
  throw wrongUsage('there is an argument too many; see --help');
}

function gitLogin(profile: string | null): 'github:source' | 'github:destination' {
  return profile === 'destination' ? 'github:destination' : 'github:source';
}

function storeOf(choice: string | null): StoreChoice {
  return choice === 'file' ? 'file' : 'auto';
}
