import { AsyncEntry } from '@napi-rs/keyring';
import { messageOf } from '../../errors.ts';

// Performs one keychain call in its own process. The call is sent over the IPC channel, so that no secret is
// in the arguments or the environment.

export type KeychainCall =
  | { act: 'read' | 'remove'; name: string }
  | { act: 'write'; name: string; secret: string };

/** `ready` is sent first, then one of the others. */
export type KeychainAnswer = { ready: true } | { value: string | null } | { error: string };

const SERVICE = 'backup-observatory';

async function carryOut(call: KeychainCall): Promise<string | null> {
  // Only the Secret Service: the fallback, the kernel's keyring, is lost at a reboot.
  const entry = new AsyncEntry(SERVICE, call.name, { linux: { store: 'secret-service' } });
  if (call.act === 'read') return (await entry.getPassword()) ?? null;
  if (call.act === 'write') await entry.setPassword(call.secret);
  else await entry.deleteCredential();
  return null;
}

function answer(message: KeychainAnswer): void {
  process.send?.(message);
}

process.once('message', async (call: KeychainCall) => {
  try {
    answer({ value: await carryOut(call) });
  } catch (error) {
    answer({ error: messageOf(error) });
  }
  process.disconnect();
});
answer({ ready: true });
