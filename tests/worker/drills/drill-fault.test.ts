import { open } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { describeFault } from '../../../lib/worker/drills/drill-fault.ts';

it('a drill is incomplete if the disk is full', async () => {
  const full = await open('/dev/full', 'w');
  const error = await full.write('x').catch((reason: unknown) => reason);
  await full.close();
  expect(error).toMatchObject({ code: 'ENOSPC' });
  expect(describeFault(error)).toEqual({
    outcome: 'incomplete',
    reason: 'DATA_DIR cannot be used: ENOSPC: no space left on device, write',
    ...{ isMissing: false, isOfStore: false, isStoreGone: false },
  });
});

it('an unexpected error is left to the output of the worker', () => {
  expect(describeFault(new TypeError('x is not a function'))).toBeNull();
});
