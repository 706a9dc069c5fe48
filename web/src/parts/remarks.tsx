import { Text } from '@mantine/core';
import type { Schemas } from '../api/client.ts';

/** What a result says beside its outcome: what its archive does not hold, and that it took more than one try. */
export function Remarks({
  result: { incomplete, tries },
}: {
  result: Pick<Schemas['BackupResult'], 'incomplete' | 'tries'>;
}) {
  return (
    <>
      {incomplete !== null && (
        <Text size="xs" style={{ overflowWrap: 'anywhere' }}>
          Incomplete: {incomplete}
        </Text>
      )}
      {tries !== null && tries > 1 && <Text size="xs">{tries} tries</Text>}
    </>
  );
}
