import { Text } from '@mantine/core';
import type { Schemas } from '../api/client.ts';

/** Notes on a result: what its archive lacks, and how many tries it took if it was more than one. */
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
