import { Alert, List, Text } from '@mantine/core';
import type { Schemas } from '../../api/client.ts';

type Loss = Schemas['RepositoryDetails']['would_lose'][number];

/** What would be lost with the source, whatever the state of the repository, if anything is known to be missing. */
export function RepositoryLosses({ losses }: { losses: readonly Loss[] }) {
  if (losses.length === 0) return null;
  return (
    <Alert color="gray" title="What you would lose with the source" role="region">
      <List size="sm">
        {losses.map((loss) => (
          <List.Item key={loss.what} style={{ overflowWrap: 'anywhere' }}>
            {describe(loss)}
          </List.Item>
        ))}
      </List>
      <Text size="sm" mt="xs">
        As far as the git host and the worker know.
      </Text>
    </Alert>
  );
}

function describe({ what, detail }: Loss): string {
  switch (what) {
    case 'everything':
      return 'Everything: it was never backed up.';
    case 'lfs':
    case 'submodules':
      return `${detail}.`;
    case 'issues':
      return detail === ''
        ? 'Its issues and pull requests.'
        : `Its issues and pull requests (${detail} open).`;
    case 'wiki':
      return 'Its wiki, if it has pages.';
    case 'discussions':
      return 'Its discussions.';
    case 'releases':
      return 'The notes and files of its releases, if it has any; their tags are in the archive.';
    case 'only_here':
      return `Version ${detail}, if the worker’s machine is lost too: no store in use has it.`;
  }
}
