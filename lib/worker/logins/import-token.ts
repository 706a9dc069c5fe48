import { execa } from 'execa';
import { AppError } from '../../errors.ts';
import { childEnvironment } from '../../processes/child-environment.ts';
import { cleanText } from '../../text/clean-text.ts';
import type { LoginSession } from './session.ts';

/**
 * Returns the token of gh, the GitHub CLI; without gh, one that the user pastes or that is read from stdin.
 * Throws UNAUTHORIZED if there is none.
 */
export async function importToken(session: LoginSession): Promise<string> {
  const { host } = new URL(session.connection.hostUrl);
  const token = (await readGhToken(session, host)) ?? (await askToken(session, host));
  if (/^[\x21-\x7e]+$/.test(token)) return token;
  throw new AppError('UNAUTHORIZED', 'no token was given');
}

/** Null if gh is not installed. */
async function readGhToken(session: LoginSession, host: string): Promise<string | null> {
  const { environment, signal } = session;
  const { exitCode, code, stdout, stderr } = await execa(
    'gh',
    ['auth', 'token', '--hostname', host],
    {
      env: childEnvironment(environment),
      extendEnv: false,
      reject: false,
      stdin: 'ignore',
      cancelSignal: signal,
      timeout: 30_000,
    },
  );
  signal.throwIfAborted();
  if (code === 'ENOENT') return null;
  if (exitCode === 0 && stdout.trim() !== '') return stdout.trim();
  throw new AppError(
    'UNAUTHORIZED',
    `gh has no token for ${host} (${cleanText(stderr, 120)}): run \`gh auth login --hostname ${host}\` first`,
  );
}

async function askToken({ person }: LoginSession, host: string): Promise<string> {
  person.say(
    `gh is not installed: ${person.canAnswer() ? `paste a token for ${host}` : `reading the token for ${host} from stdin`}.`,
  );
  return person.askSecret(`Token for ${host}`);
}
