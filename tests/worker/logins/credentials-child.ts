import { openCredentialsFile } from '../../../lib/worker/logins/credentials-file.ts';

// Adds logins one at a time; with a count of 0 holds the lock until it is killed.

const [folder = '', name = '', count = '0'] = process.argv.slice(2);
const file = openCredentialsFile(folder, () => undefined);

for (let index = 0; index < Number(count); index++) {
  await file.locked(async (held) => {
    const login = {
      kind: 'token' as const,
      account: name,
      host: 'https://github.com',
      client_id: null,
      expires_at: null,
      refresh_expires_at: null,
      store: 'keychain' as const,
    };
    await held.write({ ...(await held.read()), [`${name}:${index}`]: login });
  });
}
if (count === '0') {
  await file.locked(async () => {
    process.send?.('held');
    await new Promise(() => setInterval(() => undefined, 60_000));
  });
}
process.disconnect();
